// Keys of the LMDB store. Numbers are big-endian, so that LMDB's byte order is theirs; texts of free length carry their
// length in front, so that no key is the beginning of a stranger's.
//
//   thread      tenant · thread id (16)
//   events      thread · first sequence of the segment (8)
//   calls       thread · Created sequence (8) · call id (16)
//   call index  tenant · call id (16)
//   bodies      thread · call id (16) · content id · offset (8)
import { HeddleError } from "../thread/errors.js";
import type { ThreadId, ToolCallId } from "../thread/ids.js";
import type { ThreadKey } from "./event-log.js";

/** UTF-8 bytes of a tenant or a content id: what one length byte can say, far below LMDB's 1978 bytes a key. */
const nameBytes = 255;
const idBytes = 16;
const sequenceBytes = 8;

/** The largest that a key can hold. Nothing is stored there, so that every position has a next one. */
export const lastSequence = 2n ** 64n - 1n;

export const threadKey = (key: ThreadKey): Buffer => tenantAndId(key.tenant, key.threadId);

/** A thread's key, and the same as a key of maps. */
export interface ThreadPlace {
  readonly key: Buffer;
  readonly name: string;
}

const places = new WeakMap<ThreadKey, ThreadPlace>();

/** Made once: whoever writes or follows a thread holds on to its ThreadKey. */
export function placeOf(thread: ThreadKey): ThreadPlace {
  const known = places.get(thread);
  if (known) return known;
  const key = threadKey(thread);
  const place = { key, name: mapKey(key) };
  places.set(thread, place);
  return place;
}

export const mapKey = (thread: Buffer): string => thread.toString("latin1");

export const callIndexKey = (tenant: string, callId: ToolCallId): Buffer => tenantAndId(tenant, callId);

/** The same for a call of this thread, whose key has the tenant and an id in the same places. */
export function callIndexKeyIn(thread: Buffer, callId: ToolCallId): Buffer {
  const key = Buffer.from(thread);
  writeId(key, callId, key.length - idBytes);
  return key;
}

export const eventKey = (thread: Buffer, sequence: bigint): Buffer => withSequence(thread, sequence, 0);

export function callKey(thread: Buffer, createdSequence: bigint, callId?: ToolCallId): Buffer {
  if (callId === undefined) return withSequence(thread, createdSequence, 0);
  const key = withSequence(thread, createdSequence, idBytes);
  writeId(key, callId, key.length - idBytes);
  return key;
}

export function bodyKey(thread: Buffer, body: { callId: ToolCallId; contentId: string }, offset: number): Buffer {
  if (!Number.isInteger(offset)) throw unchecked("An offset");
  const key = bodyName(thread, body, sequenceBytes);
  writeNumber(key, offset, key.length - sequenceBytes);
  return key;
}

/** What all pieces of a body begin with. */
export const bodyPrefix = (thread: Buffer, body: { callId: ToolCallId; contentId: string }): Buffer =>
  bodyName(thread, body, 0);

/** With room for so many bytes behind it. */
function bodyName(thread: Buffer, body: { callId: ToolCallId; contentId: string }, room: number): Buffer {
  const contentId = nameOf(body.contentId, "content_id");
  const key = Buffer.allocUnsafe(thread.length + idBytes + 1 + contentId.length + room);
  key.set(thread);
  writeId(key, body.callId, thread.length);
  key[thread.length + idBytes] = contentId.length;
  key.set(contentId, thread.length + idBytes + 1);
  return key;
}

/** What all keys of a tenant begin with. */
export function tenantPrefix(tenant: string): Buffer {
  const name = nameOf(tenant, "tenant");
  return Buffer.concat([Buffer.from([name.length]), name]);
}

/** The smallest key above every key that begins with `prefix`. */
export function endOf(prefix: Buffer): Buffer {
  const end = Buffer.from(prefix);
  for (let at = end.length - 1; at >= 0; at--) {
    if (end[at] === 0xff) continue;
    end[at]!++;
    return end.subarray(0, at + 1);
  }
  return Buffer.alloc(prefix.length + 1, 0xff);
}

/** The thread that a key begins with. */
export function threadOf(key: Buffer): ThreadKey {
  const tenantEnd = 1 + key[0]!;
  return { tenant: key.toString("utf8", 1, tenantEnd), threadId: idAt(key, tenantEnd) };
}

/** The sequence (or offset) in an event, call or body key, whose prefix is `prefixBytes` long. */
export const sequenceAt = (key: Buffer, prefixBytes: number): bigint => key.readBigUInt64BE(prefixBytes);

/** The id that begins at `at`. */
export function idAt<Id extends string>(key: Buffer, at: number): Id {
  const hex = key.toString("hex", at, at + idBytes);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)];
  return parts.join("-") as string as Id;
}

/** The call that a calls key ends with. */
export const callOf = (key: Buffer): ToolCallId => idAt(key, key.length - idBytes);

/** Where a call of the thread stands: the value of the call index. */
export function encodePlace(thread: Buffer, createdSequence: bigint): Buffer {
  const place = Buffer.allocUnsafe(idBytes + sequenceBytes);
  thread.copy(place, 0, thread.length - idBytes); // Its id.
  writeSequence(place, createdSequence, idBytes);
  return place;
}

export const decodePlace = (place: Buffer): { threadId: ThreadId; createdSequence: bigint } => ({
  threadId: idAt(place, 0),
  createdSequence: place.readBigUInt64BE(idBytes),
});

function tenantAndId(tenant: string, id: string): Buffer {
  const name = nameOf(tenant, "tenant");
  const key = Buffer.allocUnsafe(1 + name.length + idBytes);
  key[0] = name.length;
  name.copy(key, 1);
  writeId(key, id, 1 + name.length);
  return key;
}

function withSequence(prefix: Buffer, sequence: bigint, room: number): Buffer {
  const key = Buffer.allocUnsafe(prefix.length + sequenceBytes + room);
  key.set(prefix);
  writeSequence(key, sequence, prefix.length);
  return key;
}

/** Those that a number holds, as all are in practice, in a fraction of the time. */
function writeSequence(key: Buffer, sequence: bigint, at: number): void {
  if (sequence <= largestNumber) writeNumber(key, Number(sequence), at);
  else key.writeBigUInt64BE(sequence, at);
}

const largestNumber = BigInt(Number.MAX_SAFE_INTEGER);

/** Contract: an integer from 0 to 2^64 − 1. */
function writeNumber(key: Buffer, value: number, at: number): void {
  key.writeUInt32BE(Math.floor(value / 2 ** 32), at);
  key.writeUInt32BE(value >>> 0, at + 4);
}

/** Digit by digit: every append writes many ids, and a copy without hyphens first takes ten times as long. */
function writeId(key: Buffer, id: string, at: number): void {
  let to = at;
  for (let from = 0; from < id.length; from += 2) {
    if (id.charCodeAt(from) === hyphen) from++;
    const byte = (digitOf(id, from) << 4) | digitOf(id, from + 1);
    if (byte < 0 || to === at + idBytes) throw unchecked("An id");
    key[to++] = byte;
  }
  if (to !== at + idBytes) throw unchecked("An id");
}

const hyphen = 0x2d;

/** −1, or less once shifted, for what is none. */
function digitOf(id: string, at: number): number {
  return digits[id.charCodeAt(at)] ?? -1;
}

const digits = Int8Array.from({ length: 0x80 }, (_, unit) => "0123456789abcdef".indexOf(String.fromCharCode(unit)));

const unchecked = (what: string): HeddleError =>
  new HeddleError("internal", `${what} that was never checked reached the store`);

function nameOf(text: string, field: string): Buffer {
  const name = Buffer.from(text, "utf8");
  if (name.length > 0 && name.length <= nameBytes) return name;
  const rule = `1 to ${nameBytes} bytes of UTF-8`;
  throw new HeddleError("invalid_field", `${field} must have ${rule}`, { detail: { field, rule } });
}
