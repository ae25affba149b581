// What an executor does, for people: one line when a call starts and one when it ends, in the marks of `heddle run`; or lines of JSON.
import { ToolCallOutcome } from "../../gen/heddle/v1/tool_call_pb.js";
import type { ExecutorEvent, ShownCall } from "../executor/executor-events.js";
import { roughSpan } from "./format.js";
import type { Io } from "./io.js";
import { markOfCall, marks } from "./marks.js";
import { commandLine } from "./next-command.js";
import { type Style, safeLine, styleFor } from "./terminal.js";
import { outcomeWord } from "./words.js";

/** What the executor says of itself. */
export interface ExecutorWords {
  readonly executorName: string;
  readonly toolNames: readonly string[];
  readonly workspace: string;
}

export interface ExecutorView {
  event(event: ExecutorEvent, words: ExecutorWords): void;
  /** What stands at the end of the screen while an answer is waited for. Empty: nothing does. */
  asking(prompt: string): void;
  write(text: string): Promise<void>;
  /** Resolves when everything is out. */
  close(): Promise<void>;
}

interface ViewFlags {
  readonly json: boolean;
  readonly server: string;
  readonly thread?: string;
}

export function executorView(io: Io, flags: ViewFlags): ExecutorView {
  const style = styleFor(io, "stdout");
  const linesOf = flags.json ? jsonLines : textLines(style, flags);
  let out = Promise.resolve();
  let prompt = "";
  const write = (text: string): Promise<void> => {
    out = out.then(() => io.stdout.write(text)).catch(() => {});
    return out;
  };
  return {
    event(event, words) {
      const text = linesOf(event, words).map((line) => `${line}\n`);
      if (text.length > 0) void write(prompt === "" ? text.join("") : `\n${text.join("")}${prompt}`);
    },
    asking(next) {
      prompt = next;
    },
    write,
    close: () => out,
  };
}

type Lines = (event: ExecutorEvent, words: ExecutorWords) => string[];

const jsonLines: Lines = (event, words) => {
  const { kind } = event;
  switch (event.kind) {
    case "offered":
      return [JSON.stringify({ kind, ...words })];
    case "away":
      return [JSON.stringify({ kind, reason: event.reason.rawMessage })];
    case "ended": {
      const outcome = ToolCallOutcome[event.outcome];
      return [JSON.stringify({ ...event, outcome, durationMs: Math.round(event.durationMs) })];
    }
    default:
      return [JSON.stringify(event)];
  }
};

/** An outage and an unanswered question are said once. */
function textLines(style: Style, { server, thread }: ViewFlags): Lines {
  let connection: "new" | "open" | "away" = "new";
  let hasSaidUnanswered = false;
  return (event, { executorName, toolNames, workspace }) => {
    switch (event.kind) {
      case "offered": {
        const before = connection;
        connection = "open";
        if (before !== "new") return before === "away" ? [style.dim("connected again")] : [];
        const whom = thread === undefined ? "all threads" : `thread ${thread}`;
        const who = `${style.bold(safeLine(executorName))} runs ${toolNames.length} tools in ${safeLine(workspace)}`;
        return [`${who} for ${whom} of ${server}`, style.dim(safeLine(toolNames.join(", ")))];
      }
      case "away": {
        if (connection === "away") return [];
        connection = "away";
        return [style.dim(`connection lost (${safeLine(event.reason.rawMessage)}); trying again`)];
      }
      case "started":
        return [`${style.cyan("●")} ${about(event.call, event.call.summary, style)}`];
      case "ended": {
        const { icon, paint } = markOfCall(event.outcome);
        const facts = [
          ...(event.outcome === ToolCallOutcome.SUCCEEDED ? [] : [outcomeWord(event.outcome)]),
          event.durationMs < 1000 ? `${Math.round(event.durationMs)} ms` : roughSpan(event.durationMs),
        ];
        return [
          `${style[paint](icon)} ${about(event.call, event.summary, style)} ${style.dim(`(${facts.join(", ")})`)}`,
        ];
      }
      case "unanswered": {
        if (hasSaidUnanswered) return [];
        hasSaidUnanswered = true;
        const answer = commandLine("approvals", { server });
        const advice = `run it on a terminal, add --yes or --trusted, or answer with ${answer} where the server asks`;
        return [
          `${style.yellow("?")} ${about(event.call, event.call.summary, style)}`,
          `  calls that need a yes are left waiting, for nobody can be asked here: ${advice}`,
        ];
      }
      case "refused": {
        const { icon, paint } = marks.calledOff;
        return [`${style[paint](icon)} ${about(event.call, `not run: ${event.reason}`, style)}`];
      }
      case "problem":
        return [`${style.red("!")} ${safeLine(event.message)}`];
    }
  };
}

const about = ({ title }: ShownCall, summary: string, { bold }: Style): string =>
  `${bold(safeLine(title))}: ${safeLine(summary)}`;
