// T1 for writers that died: whatever they left open is completed, in an order that the transition table allows.
import { newEvent, type ThreadEventInit } from "../thread/event.js";
import { RunOutcome, ToolCallOutcome } from "../thread/schema.js";
import type { ThreadDraft } from "./thread-draft.js";

export interface Interruption {
  /** For people, in a sentence that goes on after "Interrupted: ". */
  readonly reason: string;
  /** For programs. */
  readonly kind: string;
}

/** Completes everything open in the thread's run, and the run. Does nothing when no run is open. */
export function interruptRun(draft: ThreadDraft, { reason, kind }: Interruption): void {
  const run = draft.state.run;
  if (!run) return;
  const summary = `Interrupted: ${reason}`;
  const record = (payload: NonNullable<ThreadEventInit["payload"]>) =>
    draft.record(newEvent({ runId: run.runId, payload }));
  for (const toolCallId of [...draft.state.calls.keys()]) {
    const error = { kind, message: `${summary}. Whether it had an effect is not known` };
    record({ case: "toolCallComplete", value: { toolCallId, outcome: ToolCallOutcome.INTERRUPTED, summary, error } });
  }
  for (const messageId of [...draft.state.messages.keys()])
    record({ case: "messageCompleted", value: { messageId, incomplete: true } });
  for (const reasoningId of [...draft.state.reasonings.keys()])
    record({ case: "reasoningCompleted", value: { reasoningId } });
  for (const discoveryId of [...draft.state.discoveries.keys()])
    record({ case: "toolDiscoveryComplete", value: { discoveryId, errorMessage: summary } });
  record({ case: "runCompleted", value: { outcome: RunOutcome.INTERRUPTED, errorMessage: summary } });
}
