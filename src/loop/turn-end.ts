// How the work on a message ends.
import type { ModelEvent } from "../model/model.js";
import { RunOutcome } from "../thread/schema.js";
import { endingOf, type RunStop } from "./stop.js";

export interface TurnEnd {
  readonly outcome: RunOutcome;
  /** The provider's word, or Heddle's. */
  readonly finishReason: string;
}

export interface RunEnd extends TurnEnd {
  readonly errorMessage?: string;
}

export const stoppedByTool: TurnEnd = { outcome: RunOutcome.SUCCEEDED, finishReason: "tool_stop" };

export const limitReached = (finishReason: string): TurnEnd => ({ outcome: RunOutcome.INCOMPLETE, finishReason });

/** After a reply that calls nothing. One that was cut off is no whole answer. */
export function answered({ reason, providerReason }: Extract<ModelEvent, { type: "end" }>): TurnEnd {
  const isWhole = reason === "stop" || reason === "tool_calls";
  return { outcome: isWhole ? RunOutcome.SUCCEEDED : RunOutcome.INCOMPLETE, finishReason: providerReason };
}

/** A run that was called off. */
export function endOfStopped(stop: RunStop): RunEnd {
  switch (stop.kind) {
    case "cancelled":
      return { outcome: RunOutcome.CANCELLED, finishReason: "cancelled" };
    case "run_timeout":
      return { outcome: RunOutcome.INCOMPLETE, finishReason: "time_limit" };
    case "server_stopping":
      return {
        outcome: RunOutcome.INTERRUPTED,
        finishReason: "server_stopping",
        errorMessage: endingOf(stop).summary,
      };
  }
}
