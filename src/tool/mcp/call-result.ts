// What a server answers to a call, as a result that is kept: everything that it sent, with the bytes of pictures, sounds and files as
// parts of their own; and as the text that a model reads.
import { limits } from "../../thread/limits.js";
import type { ToolContent } from "../tool.js";
import { counted, oneLine } from "../words.js";

/** As it is stored. In place of bytes stands the name of the part that they are: `part`. */
export interface CallResult {
  readonly content: readonly Item[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly [further: string]: unknown;
}

type Item = Readonly<Record<string, unknown>>;

export interface ReadResult {
  readonly result: CallResult;
  readonly parts: readonly ToolContent[];
  /** What came, for people: one line. */
  readonly summary: string;
  readonly isError: boolean;
}

/** What else a call keeps beside its parts. */
const mostParts = limits.contentsPerCall - 4;

export function readResult(answer: Readonly<Record<string, unknown>>): ReadResult {
  const { content, isError, ...rest } = answer;
  const parts: ToolContent[] = [];
  const items = Array.isArray(content) ? content.filter(isItem) : [];
  const kept = items.map((item) => withoutBody(item, parts));
  const result: CallResult = { ...rest, content: kept, ...(isError === true && { isError: true }) };
  return { result, parts, summary: summaryOf(result), isError: isError === true };
}

const isItem = (value: unknown): value is Item => typeof value === "object" && value !== null && !Array.isArray(value);

/** Bytes are kept as bytes, once. */
function withoutBody(item: Item, parts: ToolContent[]): Item {
  if (parts.length >= mostParts) return item;
  if ((item["type"] === "image" || item["type"] === "audio") && typeof item["data"] === "string") {
    const { data, ...rest } = item;
    return { ...rest, ...keep(parts, item["type"], item["mimeType"], Buffer.from(data as string, "base64")) };
  }
  if (item["type"] === "resource" && isItem(item["resource"])) {
    const { blob, ...rest } = item["resource"];
    if (typeof blob !== "string") return item;
    return {
      ...item,
      resource: { ...rest, ...keep(parts, "resource", rest["mimeType"], Buffer.from(blob, "base64")) },
    };
  }
  return item;
}

function keep(parts: ToolContent[], type: string, mediaType: unknown, data: Buffer): Item {
  const id = `${type}-${parts.length + 1}`;
  parts.push({ id, mediaType: typeof mediaType === "string" ? mediaType : "", data });
  return { part: id, bytes: data.length };
}

function summaryOf({ content, structuredContent }: CallResult): string {
  const words = content.map(textOf).find((text) => text.trim() !== "");
  if (words !== undefined) {
    const more = content.length - 1;
    return `${firstLine(words)}${more > 0 ? ` (and ${counted(more, "more part", "more parts")})` : ""}`;
  }
  if (content.length === 1) return `Gave ${itemWords(content[0]!)}`;
  if (content.length > 1) return `Gave ${content.length} parts: ${[...new Set(content.map(typeOf))].join(", ")}`;
  return structuredContent === undefined ? "Gave nothing" : "Gave a structured result";
}

/** The first that says something. */
const firstLine = (text: string): string => oneLine(/[^\n]*\S[^\n]*/.exec(text)?.[0] ?? "");

const textOf = (item: Item): string =>
  item["type"] === "text" && typeof item["text"] === "string" ? item["text"] : "";

const typeOf = (item: Item): string => oneLine(typeof item["type"] === "string" ? item["type"] : "unknown");

export function modelText({ content, structuredContent }: CallResult): string {
  if (content.length === 0) return structuredContent === undefined ? "" : JSON.stringify(structuredContent);
  return content.map(itemText).join("\n");
}

function itemText(item: Item): string {
  if (!isForModel(item)) return `[${itemWords(item)}, for the user only]`;
  if (item["type"] === "text") return textOf(item);
  const text = isItem(item["resource"]) ? item["resource"]["text"] : undefined;
  return typeof text === "string" ? `[${itemWords(item)}]\n${text}` : `[${itemWords(item)}]`;
}

/** A server can say whom a part is for. Without a word it is for everybody. */
function isForModel({ annotations }: Item): boolean {
  const audience = isItem(annotations) ? annotations["audience"] : undefined;
  return !Array.isArray(audience) || audience.length === 0 || audience.includes("assistant");
}

function itemWords(item: Item): string {
  const inner = item["type"] === "resource" && isItem(item["resource"]) ? item["resource"] : item;
  const facts = [inner["name"], inner["uri"], inner["mimeType"], bytesOf(inner), inner["part"]];
  const words = facts.filter((fact): fact is string => typeof fact === "string" && fact !== "").map(oneLine);
  return [typeOf(item), ...words].join(" ");
}

const bytesOf = ({ bytes }: Item): string => (typeof bytes === "number" ? counted(bytes, "byte", "bytes") : "");
