// The names of a response and of its items. A response is a segment of a thread's log, and its id says which one: nothing has to be
// looked up, and nothing can be lost.
import { isUuid } from "../../thread/ids.js";

/** Where a response begins: the thread, and the sequence of its first event. */
export interface Segment {
  readonly threadId: string;
  readonly first: bigint;
}

export const responseId = ({ threadId, first }: Segment): string =>
  `resp_${hexOf(threadId)}${first.toString(16).padStart(16, "0")}`;

/** Undefined for what is no id of a response. */
export function parseResponseId(id: string): Segment | undefined {
  const [, thread, first] = /^resp_([0-9a-f]{32})([0-9a-f]{16})$/.exec(id) ?? [];
  const threadId = thread && uuidOf(thread);
  return threadId && isUuid(threadId) ? { threadId, first: BigInt(`0x${first}`) } : undefined;
}

export type ItemPrefix = "msg" | "rs" | "fc" | "fco" | "call" | "mcp" | "mcpl" | "mcpr" | "ws" | "fs" | "ci" | "cntr";

/** The log's own id with the protocol's prefix (T3). */
export const itemId = (prefix: ItemPrefix, id: string): string => `${prefix}_${hexOf(id)}`;

/** The log's own id. Undefined for what has another prefix, or is none. */
export function parseItemId(prefix: ItemPrefix, id: string): string | undefined {
  const [, hex] = new RegExp(`^${prefix}_([0-9a-f]{32})$`).exec(id) ?? [];
  const uuid = hex && uuidOf(hex);
  return uuid && isUuid(uuid) ? uuid : undefined;
}

const hexOf = (uuid: string): string => uuid.replaceAll("-", "");

const uuidOf = (hex: string): string =>
  [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
