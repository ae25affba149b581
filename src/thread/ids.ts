// Ids are UUIDs in lower case with hyphens. A branded string has been checked; a plain one has not.
import { randomUUID } from "node:crypto";
import { HeddleError } from "./errors.js";

export type ThreadId = string & { readonly __brand: "ThreadId" };
export type RunId = string & { readonly __brand: "RunId" };
export type ToolCallId = string & { readonly __brand: "ToolCallId" };
export type RecordingId = string & { readonly __brand: "RecordingId" };

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

export const isUuid = (text: string): boolean => uuid.test(text);

export const newId = <Id extends string>(): Id => randomUUID() as string as Id;

/** The text as an id, or `invalid_field` naming the request's field. */
export function parseId<Id extends string>(text: string, field: string): Id {
  if (isUuid(text)) return text as Id;
  throw new HeddleError("invalid_field", `${field} must be a UUID in lower case with hyphens`, {
    detail: { field, rule: "a UUID in lower case with hyphens" },
  });
}
