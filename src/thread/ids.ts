// Ids are UUIDs in lower case with hyphens. A branded string has been checked; a plain one has not.
import { createHash, randomFillSync } from "node:crypto";
import { HeddleError } from "./errors.js";

export type ThreadId = string & { readonly __brand: "ThreadId" };
export type RunId = string & { readonly __brand: "RunId" };
export type ToolCallId = string & { readonly __brand: "ToolCallId" };
export type RecordingId = string & { readonly __brand: "RecordingId" };

/** Every request acts for one tenant. */
export const defaultTenant = "default";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The last two that were: the events of a call name its run and itself, and each name is looked at. */
let [newest, secondNewest] = ["", ""];

export function isUuid(text: string): boolean {
  if (text !== "" && (text === newest || text === secondNewest)) return true;
  if (!uuid.test(text)) return false;
  secondNewest = newest;
  newest = text;
  return true;
}

/**
 * A random UUID, version 4. `crypto.randomUUID` joins its text of twenty pieces, and V8 keeps it as such: each comparison and each look
 * into a map would be dear as long as the id lives.
 */
export function newId<Id extends string>(): Id {
  if (randomAt === random.length) {
    randomFillSync(random);
    randomAt = 0;
  }
  let to = 0;
  for (let index = 0; index < 16; index++) {
    const byte = random[randomAt++]!;
    const bits = index === 6 ? (byte & 0x0f) | 0x40 : index === 8 ? (byte & 0x3f) | 0x80 : byte;
    if (index === 4 || index === 6 || index === 8 || index === 10) idText[to++] = hyphen;
    idText[to++] = digits[bits >> 4]!;
    idText[to++] = digits[bits & 0x0f]!;
  }
  return idText.toString("latin1") as Id;
}

/** For many ids at once: asking for each by itself is dear. */
const random = Buffer.allocUnsafeSlow(16 * 128);
let randomAt = random.length;

/** The one that is being made. */
const idText = Buffer.allocUnsafeSlow(36);
const digits = Buffer.from("0123456789abcdef");
const hyphen = 0x2d;

/** The thread in which the task of a call runs. Known from the call's id alone, so that no crash can lose it. */
export function childThreadOf(toolCallId: string): ThreadId {
  const hex = createHash("sha256").update(`heddle child thread of ${toolCallId}`).digest("hex");
  // A UUID of version 8: made by a rule of our own.
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return parts.join("-") as ThreadId;
}

/** The text as an id, or `invalid_field` naming the request's field. */
export function parseId<Id extends string>(text: string, field: string): Id {
  if (isUuid(text)) return text as Id;
  throw new HeddleError("invalid_field", `${field} must be a UUID in lower case with hyphens`, {
    detail: { field, rule: "a UUID in lower case with hyphens" },
  });
}
