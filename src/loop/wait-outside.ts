// A call waits for somebody outside: for a person's answer, or for the client that runs it. The run need not stay in memory
// meanwhile.
import { endOpenCall } from "./parked.js";
import type { Run, Scope } from "./run.js";
import { endingOf } from "./stop.js";
import type { Answer, WaitsFor } from "./waits.js";

/** What came of it. One that is called off meanwhile is ended in the log. */
export async function waitOutside(
  run: Run,
  toolCallId: string,
  { waitsFor, scope }: { waitsFor: WaitsFor; scope: Scope },
): Promise<Answer> {
  const answered = run.waits.wait(toolCallId, waitsFor);
  answered.catch(() => {}); // Heard below, unless the call is called off first.
  const first = await Promise.race([answered, calledOff(scope.signal)]);
  if (first !== "called off") return first;
  const stop = scope.stopped!;
  if (stop.kind === "server_stopping" && run.staysOpen) {
    run.waits.answer(toolCallId, { kind: "parked" });
    return answered;
  }
  // An answer may have been stored in the same moment: of the two, the first counts. Once the run is suspended, whoever calls off
  // does it in the log.
  const result = await run.recorder.note((draft) =>
    draft.state.run?.suspended ? undefined : endOpenCall(draft, toolCallId, endingOf(stop)),
  );
  if (!result) return answered;
  const ended = { kind: "ended", result } as const;
  run.approvals.stopClock(toolCallId);
  run.claims.stop(toolCallId);
  run.waits.answer(toolCallId, ended);
  await answered; // Even an answer that came too late: nobody waits any more.
  return ended;
}

const calledOff = (signal: AbortSignal): Promise<"called off"> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve("called off");
    else signal.addEventListener("abort", () => resolve("called off"), { once: true });
  });
