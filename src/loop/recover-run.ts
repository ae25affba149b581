// What becomes of a run of Heddle's own that the last process left open: by the state of its calls, from the log alone. Calls
// that wait for somebody outside stay, and suspend the run; everything else that was open is interrupted.
import { interruptOpen, interruptRun } from "../recorder/interrupt.js";
import { serverStopped } from "../recorder/recordings.js";
import type { ThreadDraft } from "../recorder/thread-draft.js";
import type { OpenCall } from "../thread/open-call.js";
import type { RunDocument } from "../thread/schema.js";
import type { ThreadState } from "../thread/state.js";
import { isParked, resumeRun, suspendRun } from "./parked.js";

interface Policy {
  readonly afterRestart: "continue" | "end";
  /** Whether the run's model is still there. */
  readonly isOffered: (model: string) => boolean;
}

/** The run that goes on; undefined when it waits, or has ended. */
export function recoverRun(draft: ThreadDraft, { afterRestart, isOffered }: Policy): RunDocument | undefined {
  const { state, document } = draft;
  if (!state.run || document.lease) return undefined;
  // The call whose task it worked on is over, or about to be: nobody waits for it any more.
  if (document.run?.parentToolCallId) {
    interruptRun(draft, serverStopped);
    return undefined;
  }
  // The request that waited for it is gone with the last process.
  if (document.run?.attended) {
    interruptRun(draft, { ...serverStopped, reason: "the server stopped, and with it the request that waited" });
    return undefined;
  }
  if (waitsOnly(state)) return undefined;
  const model = document.run?.options?.model ?? "";
  if (!document.run || afterRestart === "end" || !isOffered(model)) {
    const isGone = document.run && afterRestart !== "end";
    const reason = isGone ? `the server stopped, and its model ${model} is not offered any more` : serverStopped.reason;
    interruptRun(draft, { ...serverStopped, reason });
    return undefined;
  }
  interruptOpen(draft, serverStopped, (open) => isKept(open, state.run?.suspended ?? false));
  const calls = [...state.calls.values()];
  const parked = calls.filter(isParked);
  const isWaiting = parked.length > 0 && !calls.some(({ state }) => state === "approved");
  if (!isWaiting) return resumeRun(draft) ?? document.run;
  suspendRun(
    draft,
    parked.map(({ call }) => call.id),
  );
  return undefined;
}

/** Nothing was under way: it goes on waiting, for this process or for another one. */
const waitsOnly = ({ run, calls }: ThreadState): boolean =>
  run?.suspended === true && [...calls.values()].some(isParked) && ![...calls.values()].some(wasAtWork);

const wasAtWork = (open: OpenCall): boolean => !isParked(open) && open.state !== "ready";

/** An answer that was not acted on yet still counts. What stands behind a waiting call in order has its turn to come. */
const isKept = (open: OpenCall, isSuspended: boolean): boolean =>
  isParked(open) || open.state === "approved" || (isSuspended && open.state === "ready");
