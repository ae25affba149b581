// How frames lie in the store: one value is a segment, consecutive frames of one append behind a header. Bigger values
// mean fewer lookups in a replay; the bound keeps a damaged segment from taking much with it.
//
//   format (1) · frame count (2) · its complement (2) · frames, exactly as given · CRC-32 of all before it (4, little-endian)
//
// The count has a check of its own, so that the extent of a segment, and with it the head, is known even when a frame in
// it is damaged: the thread stays writable and readers can name what is lost.
import { crc32 } from "node:zlib";
import { HeddleError } from "../thread/errors.js";
import { envelopeBytes, frameLength } from "../thread/frame.js";
import type { Write } from "./commit-queue.js";
import { keptMemory } from "./kept-memory.js";

const format = 1;
const headerBytes = 5;
const checksumBytes = 4;

/** The CRC-32 of any bytes followed by their own CRC-32: one pass over the whole value checks it, without a view of a part. */
const residue = 0x2144df1c;

export const segmentLimits = {
  /** Frames of one segment together; a single frame may be larger. */
  frameBytes: 64 * 1024,
  /** What the count can hold. */
  frames: 0xffff,
} as const;

export interface Segment {
  /** Sequence of its first frame. */
  readonly first: bigint;
  readonly value: Buffer;
}

/** The frames as few segments, the first frame being `first`. A frame that is not one whole envelope is a fault of the caller. */
export function packSegments(frames: readonly Uint8Array[], first: bigint): Segment[] {
  const segments: Segment[] = [];
  for (let from = 0; from < frames.length; ) {
    const { until, bytes } = segmentEnd(frames, from);
    segments.push({ first: first + BigInt(from), value: pack(frames.slice(from, until), bytes) });
    from = until;
  }
  return segments;
}

function segmentEnd(frames: readonly Uint8Array[], from: number): { until: number; bytes: number } {
  let until = from;
  let bytes = 0;
  while (until < frames.length && until - from < segmentLimits.frames) {
    const frame = frames[until]!;
    checkEnvelope(frame);
    if (until > from && bytes + frame.length > segmentLimits.frameBytes) break;
    bytes += frame.length;
    until++;
  }
  return { until, bytes };
}

/** Readers find frames by their envelopes: a wrong length would hide all that follow. */
export function checkEnvelope(frame: Uint8Array): void {
  const bytes = Buffer.from(frame.buffer, frame.byteOffset, frame.length);
  if (bytes.length >= envelopeBytes && frameLength(bytes, 0) === bytes.length) return;
  throw new HeddleError("internal", `A frame of ${frame.length} bytes is not one whole envelope`);
}

function pack(frames: readonly Uint8Array[], bytes: number): Buffer {
  const value = keptMemory(headerBytes + bytes + checksumBytes);
  value[0] = format;
  value.writeUInt16BE(frames.length, 1);
  value.writeUInt16BE(~frames.length & 0xffff, 3);
  let at = headerBytes;
  for (const frame of frames) {
    value.set(frame, at);
    at += frame.length;
  }
  value.writeUInt32LE(crc32(value.subarray(0, at)), at);
  return value;
}

/** How many frames a segment holds; undefined when its header is damaged. Says nothing of the frames. */
export function frameCount(value: Buffer): number | undefined {
  if (value.length < headerBytes + checksumBytes || value[0] !== format) return undefined;
  const count = value.readUInt16BE(1);
  return count > 0 && (~count & 0xffff) === value.readUInt16BE(3) ? count : undefined;
}

export const isIntact = (value: Buffer): boolean => crc32(value) === residue;

/** The frames of an append, where they are one segment: a view of what it puts. */
export function framesIn(write: Write): Buffer | undefined {
  const [segment, next] = write;
  if (segment?.table !== "events" || next?.table === "events") return undefined;
  const value = segment.value!;
  return value.subarray(framesStart, framesEnd(value));
}

/** Where the frames lie in a segment. */
export const framesStart = headerBytes;
export const framesEnd = (value: Buffer): number => value.length - checksumBytes;
