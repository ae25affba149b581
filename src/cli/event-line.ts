// One event as one line for a person: when, which, what. Remembers the tools of open calls, because most events of a call
// carry its id alone.
import type { StreamThreadEventsResponse, ToolCallCreated } from "../../gen/heddle/v1/event_pb.js";
import { type KnownCall, rowOf } from "./event-row.js";
import { eventTime } from "./format.js";
import type { Style } from "./terminal.js";

/** Contract: called with every event in order; returns the line without its end. */
export type EventLines = (event: StreamThreadEventsResponse) => string;

/** Of calls that never end, the oldest are forgotten. */
const mostKnownCalls = 10_000;
const wordWidth = 11;
const sequenceWidth = 6;

export function eventLines(style: Style, now: () => Date): EventLines {
  const calls = new Map<string, KnownCall>();
  return (event) => {
    if (event.payload.case === "toolCallCreated") remember(calls, event.payload.value);
    const row = rowOf(event, { style, calls });
    if (event.payload.case === "toolCallComplete") calls.delete(event.payload.value.toolCallId);
    const sequence = event.sequence === 0n ? "·" : String(event.sequence);
    const place = style.dim(`${eventTime(event.time, now())} ${sequence.padStart(sequenceWidth)}`);
    const what = `${row.icon} ${row.word.padEnd(wordWidth)}`;
    return `${place}  ${row.paint === undefined ? what : style[row.paint](what)} ${row.text}`.trimEnd();
  };
}

function remember(calls: Map<string, KnownCall>, { toolCallId, title, toolName, kind }: ToolCallCreated): void {
  const oldest = calls.size >= mostKnownCalls ? calls.keys().next().value : undefined;
  if (oldest !== undefined) calls.delete(oldest);
  calls.set(toolCallId, { title: title || toolName, kind });
}
