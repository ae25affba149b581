// How the end of a background process is told, in the log and to people.
import type { Ending } from "../command/begin-process.js";
import { excessWords, shownCommand, tookWords } from "../command/command-words.js";
import { counted, oneLine } from "../words.js";
import type { ProcessEnding } from "./journal.js";

/** Why it was ended by somebody else. */
export type EndReason = "stopped" | "called_off" | "thread_deleted" | "server_stopped";

const reasons: Readonly<Record<EndReason, Pick<ProcessEnding, "outcome"> & { words: string }>> = {
  stopped: { outcome: "stopped", words: "Stopped" },
  called_off: { outcome: "stopped", words: "Stopped: its start was called off" },
  thread_deleted: { outcome: "stopped", words: "Ended: the thread was deleted" },
  server_stopped: { outcome: "interrupted", words: "Ended: the server stopped" },
};

export interface EndedProcess {
  readonly command: string;
  readonly end: Ending;
  readonly reason: EndReason | undefined;
  /** What it printed. */
  readonly bytes: number;
  /** What else there is to say. */
  readonly note: string | undefined;
}

export function endingOf({ command, end, reason, bytes, note }: EndedProcess): ProcessEnding {
  const { outcome, words } = toldEnd(command, end, reason);
  const { leftBehind } = end;
  const left =
    leftBehind > 0 ? [`${counted(leftBehind, "process", "processes")} of it could not be ended and may still run`] : [];
  const summary = [words, ...left, ...(note === undefined ? [] : [note])].join("; ");
  return { outcome, exitCode: end.exitCode, summary: oneLine(summary), outputBytes: bytes };
}

function toldEnd(
  command: string,
  { cause, exitCode, signalName, durationMs }: Ending,
  reason: EndReason | undefined,
): Pick<ProcessEnding, "outcome"> & { words: string } {
  const after = `after ${tookWords(durationMs)}`;
  const name = shownCommand(command);
  switch (cause) {
    case "exited": {
      const how = exitCode === undefined ? `was ended by ${signalName ?? "a signal"}` : `exited with code ${exitCode}`;
      return { outcome: "exited", words: `${name} ${how} ${after}` };
    }
    case "called_off": {
      const { outcome, words } = reasons[reason ?? "stopped"];
      return { outcome, words: words === "Stopped" ? `Stopped ${name} ${after}` : words };
    }
    case "timed_out":
      return { outcome: "limit", words: `${name} took too long` };
    case "too_many_processes":
    case "too_much_memory":
      return { outcome: "limit", words: `${name} was ${excessWords(cause)} ${after}` };
  }
}

/** Why one that was to be ended before it was there is not started. */
export const notStartedWords: Readonly<Record<EndReason, string>> = {
  stopped: "it was stopped first",
  called_off: "it was called off",
  thread_deleted: "the thread was deleted",
  server_stopped: "the server is stopping",
};

/** Of one that is in the journal and was never there. */
export function endingUnstarted(error: unknown, reason: EndReason | undefined): ProcessEnding {
  const message = error instanceof Error ? error.message : String(error);
  return {
    outcome: reason === "server_stopped" ? "interrupted" : "not_started",
    exitCode: undefined,
    summary: oneLine(reason === undefined ? `Not started: ${message}` : `Not started: ${notStartedWords[reason]}`),
    outputBytes: 0,
  };
}
