// T1 for writers that died: whatever they left open is completed, in an order that the transition table allows.
import { newEvent, type ThreadEventInit } from "../thread/event.js";
import type { OpenCall } from "../thread/open-call.js";
import { RunOutcome, ToolCallOutcome } from "../thread/schema.js";
import type { ThreadDraft } from "./thread-draft.js";

export interface Interruption {
  /** For people, in a sentence that goes on after "Interrupted: ". */
  readonly reason: string;
  /** For programs. */
  readonly kind: string;
}

/** Completes everything open in the thread's run, and the run. Does nothing when no run is open. */
export function interruptRun(draft: ThreadDraft, why: Interruption): void {
  const run = draft.state.run;
  if (!run) return;
  interruptOpen(draft, why, () => false);
  // Known of Heddle's own runs only.
  const usage = draft.document.run?.usage;
  const value = { outcome: RunOutcome.INTERRUPTED, errorMessage: summaryOf(why), ...(usage && { usage }) };
  draft.record(newEvent({ runId: run.runId, payload: { case: "runCompleted", value } }));
}

/** Completes what is open in the thread's run, apart from calls that can wait for whoever they wait for. */
export function interruptOpen(draft: ThreadDraft, why: Interruption, isParked: (open: OpenCall) => boolean): void {
  const run = draft.state.run;
  if (!run) return;
  const summary = summaryOf(why);
  const record = (payload: NonNullable<ThreadEventInit["payload"]>) =>
    draft.record(newEvent({ runId: run.runId, payload }));
  for (const open of [...draft.state.calls.values()]) {
    if (isParked(open)) continue;
    const toolCallId = open.call.id;
    const hasRun = open.state === "running" || open.state === "offered";
    const error = {
      kind: why.kind,
      message: `${summary}. ${hasRun ? "Whether it had an effect is not known" : "It had not started"}`,
    };
    record({ case: "toolCallComplete", value: { toolCallId, outcome: ToolCallOutcome.INTERRUPTED, summary, error } });
  }
  for (const messageId of [...draft.state.messages.keys()])
    record({ case: "messageCompleted", value: { messageId, incomplete: true } });
  for (const reasoningId of [...draft.state.reasonings.keys()])
    record({ case: "reasoningCompleted", value: { reasoningId } });
  for (const discoveryId of [...draft.state.discoveries.keys()])
    record({ case: "toolDiscoveryComplete", value: { discoveryId, errorMessage: summary } });
}

const summaryOf = ({ reason }: Interruption): string => `Interrupted: ${reason}`;
