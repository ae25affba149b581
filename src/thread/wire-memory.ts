// The memory that messages are encoded in, one at a time, and what can be written there: protobuf's own kinds of values. It stays
// from message to message; what is taken out is a copy of exactly its size.

/** Thrown for a value that is not what its type says. Not an error: whoever encodes knows somebody to ask. */
export const irregular = Symbol("irregular");

const firstBytes = 16 * 1024;
/** Larger memory is for one message only. */
const keptBytes = 1024 * 1024;

let memory = Buffer.allocUnsafeSlow(firstBytes);
let at = 0;

/** Starts anew, behind so many bytes. */
export function startAt(position: number): void {
  at = position;
}

/** All that was written. */
export function taken(): Buffer {
  const bytes = Buffer.allocUnsafe(at);
  memory.copy(bytes, 0, 0, at);
  if (memory.length > keptBytes) memory = Buffer.allocUnsafeSlow(firstBytes);
  return bytes;
}

/** Begins something that has its length in front. Nested as often as you like. */
export function begin(): number {
  makeRoom(1);
  return at++;
}

export function end(start: number): void {
  const from = start + 1;
  const length = at - from;
  const lengthBytes = varintBytes(length);
  if (lengthBytes > 1) {
    makeRoom(lengthBytes);
    memory.copyWithin(start + lengthBytes, from, at);
  }
  at = start;
  writeVarint(length);
  at += length;
}

/** Number and wire type of a field. Nearly all take one byte. */
export function writeTag(tag: number): void {
  if (tag <= 0x7f) {
    makeRoom(1);
    memory[at++] = tag;
  } else writeVarint(tag);
}

/** Contract: an integer from 0 to 2^53 − 1. */
export function writeVarint(value: number): void {
  makeRoom(8);
  let rest = value;
  while (rest > 0x7f) {
    memory[at++] = (rest % 0x80) | 0x80;
    rest = rest > 0x7fffffff ? Math.floor(rest / 0x80) : rest >>> 7;
  }
  memory[at++] = rest;
}

export function writeRaw(bytes: Uint8Array): void {
  makeRoom(bytes.length);
  memory.set(bytes, at);
  at += bytes.length;
}

export function writeBytes(value: unknown): void {
  if (!(value instanceof Uint8Array)) throw irregular;
  writeVarint(value.length);
  writeRaw(value);
}

/** Below it, a loop over the units is faster than a call out of JavaScript. */
const shortUnits = 64;

export function writeString(value: unknown): void {
  if (typeof value !== "string") throw irregular;
  const { length } = value;
  makeRoom(length * 3 + 5);
  if (length <= shortUnits && wroteAscii(value)) return;
  // Most text has a byte a unit: where it has more, and its length takes another byte, it is moved.
  const guess = varintBytes(length);
  const written = memory.write(value, at + guess, "utf8");
  const lengthBytes = varintBytes(written);
  const from = at + guess;
  if (lengthBytes !== guess) memory.copyWithin(at + lengthBytes, from, from + written);
  writeVarint(written);
  at += written;
}

function wroteAscii(value: string): boolean {
  const { length } = value;
  let to = at + 1;
  for (let index = 0; index < length; index++) {
    const unit = value.charCodeAt(index);
    if (unit > 0x7f) return false;
    memory[to++] = unit;
  }
  memory[at] = length;
  at = to;
  return true;
}

export function writeBool(value: unknown): void {
  if (typeof value !== "boolean") throw irregular;
  writeVarint(value ? 1 : 0);
}

export function writeUint32(value: unknown): void {
  if (typeof value !== "number" || value >>> 0 !== value) throw irregular;
  writeVarint(value);
}

export function writeInt32(value: unknown): void {
  if (typeof value !== "number" || (value | 0) !== value) throw irregular;
  if (value >= 0) writeVarint(value);
  else writeBigVarint(BigInt(value));
}

export function writeUint64(value: unknown): void {
  if (typeof value !== "bigint" || value < 0n) throw irregular;
  writeInt64(value);
}

export function writeInt64(value: unknown): void {
  if (typeof value !== "bigint") throw irregular;
  const small = Number(value);
  if (small >= 0 && small <= Number.MAX_SAFE_INTEGER) writeVarint(small);
  else writeBigVarint(value);
}

/** Of 64 bits, the negative ones in two's complement. */
function writeBigVarint(value: bigint): void {
  makeRoom(10);
  let rest = BigInt.asUintN(64, value);
  if (rest !== value && BigInt.asIntN(64, value) !== value) throw irregular;
  for (; rest > 0x7fn; rest >>= 7n) memory[at++] = Number(rest & 0x7fn) | 0x80;
  memory[at++] = Number(rest);
}

export function writeDouble(value: unknown): void {
  if (typeof value !== "number") throw irregular;
  makeRoom(8);
  at = memory.writeDoubleLE(value, at);
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes++;
  return bytes;
}

function makeRoom(bytes: number): void {
  if (at + bytes > memory.length) grow(at + bytes);
}

function grow(needed: number): void {
  const grown = Buffer.allocUnsafeSlow(Math.max(needed, memory.length * 2));
  memory.copy(grown, 0, 0, at);
  memory = grown;
}
