// How the work on a message ends.
import type { ModelEvent } from "../model/model.js";
import { RunOutcome } from "../thread/schema.js";

export interface TurnEnd {
  readonly outcome: RunOutcome;
  /** The provider's word, or Heddle's. */
  readonly finishReason: string;
}

export const stoppedByTool: TurnEnd = { outcome: RunOutcome.SUCCEEDED, finishReason: "tool_stop" };

export const limitReached = (finishReason: string): TurnEnd => ({ outcome: RunOutcome.INCOMPLETE, finishReason });

/** After a reply that calls nothing. One that was cut off is no whole answer. */
export function answered({ reason, providerReason }: Extract<ModelEvent, { type: "end" }>): TurnEnd {
  const isWhole = reason === "stop" || reason === "tool_calls";
  return { outcome: isWhole ? RunOutcome.SUCCEEDED : RunOutcome.INCOMPLETE, finishReason: providerReason };
}
