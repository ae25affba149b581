// A run as plain lines, for pipes and logs: one for each step of a call's life, in the words of `heddle follow`, and between
// them what the agent says, line by line and whole.
import { Role, type StreamThreadEventsResponse, TextPurpose } from "../../gen/heddle/v1/event_pb.js";
import { type EventLines, eventLines } from "./event-line.js";
import type { Io } from "./io.js";
import { paintedText } from "./live-view-line.js";
import { askedLines } from "./live-view-question.js";
import {
  addText,
  addToTail,
  endText,
  newParagraph,
  noTail,
  type Paragraph,
  shownTail,
  type Tail,
} from "./live-view-text.js";
import { commandLine, type Where } from "./next-command.js";
import { asksUser, optionsText } from "./question-options.js";
import { readAnswer } from "./read-answer.js";
import { prompt, promptHint } from "./run-question.js";
import type { RunView } from "./run-view.js";
import { safeLine, styleFor } from "./terminal.js";

/** `where` is what leads to the run: commands that are named here must lead there too. */
export function openPlainView(io: Io, where: Where): RunView {
  const style = styleFor(io, "stdout");
  const lines = plainLines(
    eventLines(style, () => new Date()),
    where,
  );
  /** What stands at the end of the screen while an answer is waited for. */
  let asking = "";
  let farewell = "";
  const note = (text: string) => void io.stderr.write(`heddle: ${safeLine(text)}\n`).catch(() => {});
  const forget = io.onExit(() => farewell !== "" && note(farewell));
  return {
    async event(event) {
      const text = lines(event).map((line) => `${line}\n`);
      if (text.length > 0) await io.stdout.write(asking === "" ? text.join("") : `\n${text.join("")}${asking}`);
    },
    async ask(question, signal) {
      const { columns = assumed.columns, rows = assumed.rows } = io.stdout;
      const asked = askedLines(question, { columns: columns - 1, room: rows - 2 });
      await io.stdout.write(`${asked.map((line) => `${paintedText(line, style)}\n`).join("")}${prompt}`);
      asking = prompt;
      const onChange = (_: string, isUnclear: boolean) => {
        if (isUnclear) void io.stdout.write(`${promptHint}${prompt}`).catch(() => {});
      };
      try {
        return await readAnswer(io, { mode: "lines", signal, onChange, nowMs: Date.now });
      } finally {
        asking = "";
        if (signal.aborted) await io.stdout.write("\n").catch(() => {});
      }
    },
    note,
    foreign: (line) => void io.stderr.write(`${line}\n`).catch(() => {}),
    away: () => {}, // A note says it.
    farewell(text) {
      farewell = text;
    },
    close: async () => forget(),
  };
}

const assumed = { columns: 80, rows: 24 };
const indent = "    ";

/** Contract: called with every event of a run in order. */
export function plainLines(lifecycleLine: EventLines, where: Where): (event: StreamThreadEventsResponse) => string[] {
  const texts = new Map<string, Paragraph>();
  const tails = new Map<string, Tail>();
  /** The raw input of questions to the user: what they offer stands there alone. */
  const asked = new Map<string, string>();
  /** A line that waits for its end comes before whatever happens next. */
  const saidSoFar = (): string[] => [...texts].flatMap(([id, { pending }]) => (pending === "" ? [] : add(id, "\n")));
  const add = (id: string, text: string): string[] => {
    const { paragraph, lines } = addText(texts.get(id) ?? newParagraph, text);
    texts.set(id, paragraph);
    return lines;
  };
  const end = (id: string): string[] => {
    const lines = endText(texts.get(id) ?? newParagraph);
    texts.delete(id);
    return lines;
  };
  const offered = (id: string): string[] => {
    const options = optionsText(asked.get(id) ?? "");
    asked.delete(id);
    return options === "" ? [] : add(id, options);
  };
  /** The end of what a call printed. */
  const printed = (id: string, threadId: string): string[] => {
    const tail = tails.get(id) ?? noTail;
    tails.delete(id);
    const cut = tail.isCut
      ? [`… the end of its output; all of it: ${safeLine(commandLine(`follow ${threadId} --json`, where))}`]
      : [];
    return [...cut, ...shownTail(tail)].map((line) => `${indent}${line}`);
  };
  return (event) => {
    const { payload } = event;
    switch (payload.case) {
      case "runStarted":
        return [`${lifecycleLine(event)}, thread ${safeLine(event.threadId)}`];
      case "messageCreated":
        if (payload.value.role === Role.ASSISTANT) texts.set(payload.value.messageId, newParagraph);
        return [];
      case "messageDelta":
        return texts.has(payload.value.messageId) ? add(payload.value.messageId, payload.value.text) : [];
      case "messageCompleted": {
        const { messageId, refusal, incomplete } = payload.value;
        return [...end(messageId), ...(refusal !== "" || incomplete ? [lifecycleLine(event)] : [])];
      }
      case "toolCallTextDelta": {
        const { toolCallId, purpose, text } = payload.value;
        return purpose === TextPurpose.SPEECH ? add(toolCallId, text) : [];
      }
      case "toolCallCreated":
        if (asksUser(payload.value.toolName)) asked.set(payload.value.toolCallId, "");
        return [...saidSoFar(), lifecycleLine(event)];
      case "toolCallInputDelta": {
        const { toolCallId, text } = payload.value;
        const before = asked.get(toolCallId);
        if (before !== undefined) asked.set(toolCallId, before + text);
        return []; // Pieces, not steps. `heddle follow` prints them.
      }
      case "toolCallInputCompleted": {
        const { toolCallId } = payload.value;
        return [...offered(toolCallId), ...end(toolCallId), lifecycleLine(event)];
      }
      case "toolCallOutputDelta": {
        const { toolCallId, text } = payload.value;
        tails.set(toolCallId, addToTail(tails.get(toolCallId) ?? noTail, text));
        return [];
      }
      case "toolCallComplete": {
        const { toolCallId } = payload.value;
        asked.delete(toolCallId);
        return [...end(toolCallId), lifecycleLine(event), ...printed(toolCallId, event.threadId)];
      }
      case "reasoningDelta": // Pieces, not steps. `heddle follow` prints them.
      case "reasoningCompleted":
        return [];
      default:
        return [...saidSoFar(), lifecycleLine(event)];
    }
  };
}
