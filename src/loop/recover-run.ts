// What becomes of a run of Heddle's own that the last process left open: by the state of its calls, from the log alone. Calls
// that wait for somebody outside stay, and suspend the run; everything else that was open is interrupted.
import { interruptOpen, interruptRun } from "../recorder/interrupt.js";
import { serverStopped } from "../recorder/recordings.js";
import type { ThreadDraft } from "../recorder/thread-draft.js";
import { newEvent, type ThreadEventInit } from "../thread/event.js";
import { limits } from "../thread/limits.js";
import type { RunDocument } from "../thread/schema.js";
import { isParked, parkedReason } from "./parked.js";

interface Policy {
  readonly afterRestart: "continue" | "end";
  /** Whether the run's model is still there. */
  readonly isOffered: (model: string) => boolean;
}

/** The run that goes on; undefined when it waits, or has ended. */
export function recoverRun(draft: ThreadDraft, { afterRestart, isOffered }: Policy): RunDocument | undefined {
  const { state, document } = draft;
  if (!state.run || document.lease) return undefined;
  const { runId, suspended } = state.run;
  const model = document.run?.options?.model ?? "";
  if (!document.run || afterRestart === "end" || !isOffered(model)) {
    const isGone = document.run && afterRestart !== "end";
    const reason = isGone ? `the server stopped, and its model ${model} is not offered any more` : serverStopped.reason;
    interruptRun(draft, { ...serverStopped, reason });
    return undefined;
  }
  interruptOpen(draft, serverStopped, isParked);
  const parked = [...state.calls.values()];
  const record = (payload: NonNullable<ThreadEventInit["payload"]>) => draft.record(newEvent({ runId, payload }));
  if (parked.length === 0) {
    if (suspended) record({ case: "runResumed", value: {} });
    return document.run;
  }
  if (!suspended) {
    const openToolCallIds = parked.map(({ call }) => call.id).slice(0, limits.openCallIds);
    record({ case: "runSuspended", value: { reason: parkedReason(parked), openToolCallIds } });
  }
  return undefined;
}
