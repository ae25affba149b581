// A log as a golden file has it: one event a line in proto3 JSON, with names in place of ids. An id has one name wherever it
// stands (T3), so that a wrong one shows.
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type ThreadEvent, ThreadEventSchema } from "../../src/thread/event.js";

export function toLines(events: readonly ThreadEvent[]): string[] {
  const names = new IdNames();
  return events.map((event) => JSON.stringify(stable(toJson(ThreadEventSchema, event), "", names)));
}

export const fromLines = (lines: readonly string[]): ThreadEvent[] =>
  lines.map((line) => fromJson(ThreadEventSchema, JSON.parse(line) as JsonValue));

/** Longer texts are cut in a golden file, and their length is noted. */
const longestText = 200;
const keptText = 24;

function stable(value: JsonValue, key: string, names: IdNames): JsonValue {
  if (typeof value === "string") return shortened(names.inText(value, key));
  if (Array.isArray(value)) return value.map((item) => stable(item, key, names));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, stable(member, name, names)]));
}

const shortened = (text: string): string =>
  text.length <= longestText ? text : `${text.slice(0, keptText)}… [${text.length} characters]`;

/** What an id is called, by the field in which it is first seen: `call-1`, `call-2`, … */
const kinds: Readonly<Record<string, string>> = {
  threadId: "thread",
  runId: "run",
  requestId: "request",
  messageId: "message",
  reasoningId: "reasoning",
  toolCallId: "call",
  openToolCallIds: "call",
  discoveryId: "discovery",
};

const uuids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

class IdNames {
  readonly #names = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  inText(text: string, key: string): string {
    return text.replace(uuids, (id) => this.#names.get(id) ?? this.#add(id, kinds[key] ?? "id"));
  }

  #add(id: string, kind: string): string {
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    this.#names.set(id, `${kind}-${count}`);
    return `${kind}-${count}`;
  }
}
