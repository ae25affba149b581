// What a run shows of itself: each way to show it is one of these.
import type { StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import type { Question, TypedAnswer } from "./run-question.js";

export interface RunView {
  /** Contract: called with every event of the run in order. Rejects when the reader has left. */
  event(event: StreamThreadEventsResponse): Promise<void>;
  /**
   * Shows a question and reads the answer. The run goes on being shown meanwhile. Rejects with the signal's reason, and the
   * question is gone then. Contract: there is a terminal, and one question at a time.
   */
  ask(question: Question, signal: AbortSignal): Promise<TypedAnswer>;
  /** A word of the command's own. */
  note(text: string): void;
  /** A line that a tool, a library or Node itself printed. It goes to standard error. */
  foreign(line: string): void;
  /** The server is away, or is back. */
  away(isAway: boolean): void;
  /** What to say if the process ends before the view is closed. */
  farewell(text: string): void;
  /** Everything is shown, and the terminal is as it was. */
  close(): Promise<void>;
}
