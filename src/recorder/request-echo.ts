// The request that a run echoes: any JSON, within bounds that every reader can take, and without secrets.
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { limits } from "../thread/limits.js";

/** What is wrong with it, or undefined. */
export function requestFault(request: JsonObject | undefined): string | undefined {
  if (!request) return undefined;
  if (!isPlain(request, limits.requestEchoDepth)) {
    return `request must have finite numbers and be at most ${limits.requestEchoDepth} levels deep`;
  }
  const bytes = Buffer.byteLength(JSON.stringify(request));
  return bytes > limits.requestEchoBytes
    ? `request may have at most ${limits.requestEchoBytes} bytes as JSON`
    : undefined;
}

function isPlain(value: JsonValue, depth: number): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isPlain(inner, depth - 1));
}

export function redactedRequest(request: JsonObject, redact: (text: string) => string): JsonObject {
  const inside = (value: JsonValue): JsonValue => {
    if (typeof value === "string") return redact(value);
    if (Array.isArray(value)) return value.map(inside);
    return typeof value === "object" && value !== null ? redactedRequest(value, redact) : value;
  };
  return Object.fromEntries(Object.entries(request).map(([name, value]) => [redact(name), inside(value)]));
}
