// Calls that wait for somebody outside: they survive a restart, and their run is suspended meanwhile.
import type { ThreadDraft } from "../recorder/thread-draft.js";
import { newEvent, type ThreadEventInit } from "../thread/event.js";
import type { OpenCall } from "../thread/open-call.js";
import { type RunDocument, RunOutcome, SuspendReason } from "../thread/schema.js";
import { endingOf } from "./stop.js";

export const isParked = ({ state }: OpenCall): boolean => state === "awaiting_approval" || state === "offered";

export const parkedReason = (calls: readonly OpenCall[]): SuspendReason =>
  calls.some(({ state }) => state === "awaiting_approval") ? SuspendReason.APPROVAL : SuspendReason.CLIENT_TOOL;

/**
 * Calls off the parked calls of a run that nobody works on: all of them and with them the run, or one. Returns the run when
 * nothing is left that it waits for, and it goes on.
 */
export function cancelParked(draft: ThreadDraft, reason: string, toolCallId?: string): RunDocument | undefined {
  const { runId } = draft.document;
  const { outcome, summary, error } = endingOf({ kind: "cancelled", reason });
  const record = (payload: NonNullable<ThreadEventInit["payload"]>) => draft.record(newEvent({ runId, payload }));
  for (const id of toolCallId ? [toolCallId] : [...draft.state.calls.keys()])
    record({ case: "toolCallComplete", value: { toolCallId: id, outcome, summary, error } });
  if (toolCallId === undefined) {
    const usage = draft.document.run?.usage;
    const value = { outcome: RunOutcome.CANCELLED, finishReason: "cancelled", ...(usage && { usage }) };
    record({ case: "runCompleted", value });
    return undefined;
  }
  if (draft.state.calls.size > 0 || !draft.document.run) return undefined;
  if (draft.state.run?.suspended) record({ case: "runResumed", value: {} });
  return draft.document.run;
}
