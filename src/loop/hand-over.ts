// A call that a client runs. Started says that it waits to be claimed, and what it is about; whoever claims it fetches the input,
// reports, and ends it (client-calls.ts). The loop only waits.
import { Executor } from "../thread/schema.js";
import { timestampFromMs } from "../thread/time.js";
import type { Run, Scope } from "./run.js";
import { type CallResult, type Parked, parked } from "./run-tool-call.js";
import type { CallInput } from "./streamed-call.js";
import { waitOutside } from "./wait-outside.js";

/** Contract: the call is allowed, and its tool is a client's. */
export async function handOver(run: Run, call: CallInput, scope: Scope): Promise<CallResult | Parked> {
  const { id: toolCallId, summary } = call;
  const expiresMs = Date.now() + run.limits.claimTimeoutMs;
  const claimExpireTime = timestampFromMs(expiresMs);
  const started = run.recorder.record({
    case: "toolCallStarted",
    value: { toolCallId, summary, executor: Executor.CLIENT, claimExpireTime },
  });
  // Not awaited first: it cannot be claimed before it is stored, and a clock that starts later could miss the claim.
  run.claims.offered(run.key, toolCallId, expiresMs);
  await started;
  return waitForClient(run, call, scope);
}

/** Contract: the call was handed over, now or before a restart. */
export async function waitForClient(run: Run, { id }: CallInput, scope: Scope): Promise<CallResult | Parked> {
  const answer = await waitOutside(run, id, { waitsFor: "client", scope });
  if (answer.kind === "ended") return answer.result;
  if (answer.kind === "parked") return parked;
  throw new Error("a call that a client runs needs no yes");
}
