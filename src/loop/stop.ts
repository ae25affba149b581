// Why something is called off, and what its calls are then told to people and programs as.
import { ToolCallOutcome } from "../thread/schema.js";

/** A run, and with it everything in it. */
export type RunStop =
  /** Somebody called off the call or the run. */
  | { readonly kind: "cancelled"; readonly reason: string }
  | { readonly kind: "run_timeout"; readonly limitMs: number }
  /** The server goes away. */
  | { readonly kind: "server_stopping" };

/** A call: with its run, because it took longer than it was given, or with the executor that runs it. */
export type Stop =
  | RunStop
  | { readonly kind: "tool_timeout"; readonly limitMs: number }
  | { readonly kind: "executor_stopping" };

/** The reason of every signal that a model or a tool is given. */
export class Stopped extends Error {
  readonly stop: Stop;

  constructor(stop: Stop) {
    super(endingOf(stop).summary);
    this.name = "AbortError";
    this.stop = stop;
  }
}

export interface Ending {
  readonly outcome: ToolCallOutcome;
  readonly summary: string;
  readonly error: { readonly kind: string; readonly message: string };
}

/** How a call that was called off ends. */
export function endingOf(stop: Stop): Ending {
  const ended = (outcome: ToolCallOutcome, kind: string, summary: string): Ending => ({
    outcome,
    summary,
    error: { kind, message: summary },
  });
  switch (stop.kind) {
    case "cancelled":
      return ended(ToolCallOutcome.CANCELLED, "cancelled", stop.reason ? `Cancelled: ${stop.reason}` : "Cancelled");
    case "tool_timeout":
      return ended(ToolCallOutcome.TIMED_OUT, "timeout", `Timed out after ${spanWords(stop.limitMs)}`);
    case "run_timeout":
      return ended(
        ToolCallOutcome.TIMED_OUT,
        "run_timeout",
        `Timed out: the run reached its limit of ${spanWords(stop.limitMs)}`,
      );
    case "server_stopping":
      return ended(ToolCallOutcome.INTERRUPTED, "server_stopping", "Interrupted: the server is stopping");
    case "executor_stopping":
      return ended(ToolCallOutcome.INTERRUPTED, "executor_stopping", "Interrupted: the executor is stopping");
  }
}

/** A span for people: `800 ms`, `12 s`, `30 min`. */
export function spanWords(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Number((ms / 1_000).toFixed(1))} s`;
  return `${Number((ms / 60_000).toFixed(1))} min`;
}
