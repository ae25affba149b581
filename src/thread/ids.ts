// Ids are UUIDs in lower case with hyphens. A branded string has been checked; a plain one has not.
import { createHash, randomUUID } from "node:crypto";
import { HeddleError } from "./errors.js";

export type ThreadId = string & { readonly __brand: "ThreadId" };
export type RunId = string & { readonly __brand: "RunId" };
export type ToolCallId = string & { readonly __brand: "ToolCallId" };
export type RecordingId = string & { readonly __brand: "RecordingId" };

/** Every request acts for one tenant. */
export const defaultTenant = "default";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export const isUuid = (text: string): boolean => uuid.test(text);

export const newId = <Id extends string>(): Id => randomUUID() as string as Id;

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
