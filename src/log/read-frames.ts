// The replay hot path: frames of a thread from any position, out of its segments. All of it is synchronous, so that one
// call sees one snapshot.
import { HeddleError } from "../thread/errors.js";
import { frameLength } from "../thread/frame.js";
import type { Span } from "./event-log.js";
import { endOf, eventKey, sequenceAt } from "./lmdb-keys.js";
import type { Table } from "./lmdb-tables.js";
import { frameCount, framesEnd, framesStart, isIntact } from "./segment.js";
import { SpanBuffer } from "./span-buffer.js";

interface FoundSegment {
  readonly first: bigint;
  /** Undefined: the header is damaged. */
  readonly count: number | undefined;
  /** Valid until the next lookup. */
  readonly value: Buffer;
}

/**
 * As EventLog.read promises. A span ends with a segment wherever one fits, so that no segment is looked up and checked
 * twice. Damaged frames are `data_loss`, unless good ones come before them: then the span ends there.
 */
export function readFrames(
  events: Table,
  thread: Buffer,
  range: { after: bigint; maxBytes: number },
): Span | undefined {
  const wanted = range.after + 1n;
  const span = new SpanBuffer(range.maxBytes);
  const key = eventKey(thread, wanted);
  let next = wanted;
  let segment = findSegment(events, thread, key, wanted);
  while (segment !== undefined) {
    if (segment.count === undefined || !isIntact(segment.value)) {
      if (span.isEmpty) throw dataLoss(segment.first, lastOf(events, thread, segment));
      break;
    }
    const start = offsetOf(segment.value, next - segment.first);
    const end = framesEnd(segment.value);
    if (!span.addAll(segment.value, start, end)) {
      if (span.isEmpty) next += BigInt(span.addSome(segment.value, start, end));
      break;
    }
    next = segment.first + BigInt(segment.count);
    key.writeBigUInt64BE(next, thread.length);
    segment = segmentAt(events, key, next);
  }
  return next === wanted ? undefined : { first: wanted, last: next - 1n, bytes: span.finish() };
}

/** Sequence of the last frame; 0 when there is none. */
export function readHead(events: Table, thread: Buffer): bigint {
  const segment = lastSegment(events, thread, endOf(thread));
  if (segment === undefined) return 0n;
  if (segment.count === undefined) throw dataLoss(segment.first, segment.first);
  return segment.first + BigInt(segment.count) - 1n;
}

/** The segment that holds a sequence, whose key is `key`. Undefined beyond the head. */
function findSegment(events: Table, thread: Buffer, key: Buffer, sequence: bigint): FoundSegment | undefined {
  // A reader that goes on where its last span ended stands at the beginning of a segment.
  const exact = segmentAt(events, key, sequence);
  if (exact !== undefined) return exact;
  const before = lastSegment(events, thread, key);
  if (before !== undefined && lastOf(events, thread, before) >= sequence) return lastSegment(events, thread, key);
  const later = firstAfter(events, thread, sequence);
  if (later !== undefined) throw dataLoss(sequence, later - 1n);
  return undefined;
}

function segmentAt(events: Table, key: Buffer, first: bigint): FoundSegment | undefined {
  const bytes = events.getBinaryFast(key);
  if (bytes === undefined) return undefined;
  // Its `length` is the value's; the memory behind it is lmdb-js's own and larger.
  const value = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return { first, count: frameCount(value), value };
}

/** The last segment of the thread at or before a key. */
function lastSegment(events: Table, thread: Buffer, start: Buffer): FoundSegment | undefined {
  for (const key of events.getKeys({ start, end: thread, reverse: true, limit: 1 })) {
    return segmentAt(events, key, sequenceAt(key, thread.length));
  }
  return undefined;
}

function firstAfter(events: Table, thread: Buffer, sequence: bigint): bigint | undefined {
  for (const key of events.getKeys({ start: eventKey(thread, sequence), end: endOf(thread), limit: 1 })) {
    return sequenceAt(key, thread.length);
  }
  return undefined;
}

/** Sequence of a segment's last frame. With a damaged header: as far as the next segment shows, or its first. */
function lastOf(events: Table, thread: Buffer, { first, count }: FoundSegment): bigint {
  if (count !== undefined) return first + BigInt(count) - 1n;
  return (firstAfter(events, thread, first + 1n) ?? first + 1n) - 1n;
}

/** Where a frame of a segment begins, which is the given number of frames behind the first. */
function offsetOf(value: Buffer, frames: bigint): number {
  let offset = framesStart;
  for (let skipped = 0n; skipped < frames; skipped++) offset += frameLength(value, offset);
  return offset;
}

const dataLoss = (firstSequence: bigint, lastSequence: bigint): HeddleError =>
  new HeddleError(
    "data_loss",
    `Events ${firstSequence} to ${lastSequence} are damaged on disk: restore the data directory from a backup, or resume after ${lastSequence}`,
    { detail: { firstSequence, lastSequence } },
  );
