// The replay hot path: frames of a thread from any position, out of its segments. All of it is synchronous, so that one
// call sees one snapshot.
import type { Database } from "lmdb";
import { HeddleError } from "../thread/errors.js";
import { skipFrames } from "../thread/frame.js";
import type { Span } from "./event-log.js";
import { endOf, eventKey, sequenceAt } from "./lmdb-keys.js";
import { frameCount, verifiedFrames } from "./segment.js";
import { SpanBuffer } from "./span-buffer.js";

type Events = Database<Buffer, Buffer>;

interface FoundSegment {
  readonly first: bigint;
  /** Undefined: the header is damaged. */
  readonly count: number | undefined;
  /** Valid until the next lookup. */
  readonly value: Buffer;
}

/** As EventLog.read promises. Damaged frames are `data_loss`, unless good ones come before them: then the span ends there. */
export function readFrames(
  events: Events,
  thread: Buffer,
  range: { after: bigint; maxBytes: number },
): Span | undefined {
  const wanted = range.after + 1n;
  const span = new SpanBuffer(range.maxBytes);
  let next = wanted;
  let segment = findSegment(events, thread, wanted);
  if (segment === undefined) return undefined;
  while (segment !== undefined) {
    const frames = segment.count === undefined ? undefined : verifiedFrames(segment.value);
    if (frames === undefined && span.isEmpty) throw dataLoss(segment.first, lastOf(events, thread, segment));
    if (frames === undefined) break;
    const rest = next === segment.first ? frames : frames.subarray(skipFrames(frames, Number(next - segment.first)));
    if (!span.addAll(rest)) {
      next += BigInt(span.addSome(rest));
      break;
    }
    next = segment.first + BigInt(segment.count!);
    segment = segmentAt(events, thread, next);
  }
  return { first: wanted, last: next - 1n, bytes: span.finish() };
}

/** Sequence of the last frame; 0 when there is none. */
export function readHead(events: Events, thread: Buffer): bigint {
  const segment = lastSegment(events, thread, endOf(thread));
  if (segment === undefined) return 0n;
  if (segment.count === undefined) throw dataLoss(segment.first, segment.first);
  return segment.first + BigInt(segment.count) - 1n;
}

/** The segment that holds a sequence. Undefined beyond the head. */
function findSegment(events: Events, thread: Buffer, sequence: bigint): FoundSegment | undefined {
  // A reader that goes on where its last span ended stands at the beginning of a segment.
  const exact = segmentAt(events, thread, sequence);
  if (exact !== undefined) return exact;
  const before = lastSegment(events, thread, eventKey(thread, sequence));
  if (before !== undefined && lastOf(events, thread, before) >= sequence) {
    return segmentAt(events, thread, before.first);
  }
  const later = firstAfter(events, thread, sequence);
  if (later !== undefined) throw dataLoss(sequence, later - 1n);
  return undefined;
}

function segmentAt(events: Events, thread: Buffer, first: bigint): FoundSegment | undefined {
  const bytes = events.getBinaryFast(eventKey(thread, first));
  if (bytes === undefined) return undefined;
  // Its `length` is the value's; the memory behind it is lmdb-js's own and larger.
  const value = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return { first, count: frameCount(value), value };
}

/** The last segment of the thread at or before a key. */
function lastSegment(events: Events, thread: Buffer, start: Buffer): FoundSegment | undefined {
  for (const key of events.getKeys({ start, end: thread, reverse: true, limit: 1 })) {
    return segmentAt(events, thread, sequenceAt(key, thread.length));
  }
  return undefined;
}

function firstAfter(events: Events, thread: Buffer, sequence: bigint): bigint | undefined {
  for (const key of events.getKeys({ start: eventKey(thread, sequence), end: endOf(thread), limit: 1 })) {
    return sequenceAt(key, thread.length);
  }
  return undefined;
}

/** Sequence of a segment's last frame. With a damaged header: as far as the next segment shows, or its first. */
function lastOf(events: Events, thread: Buffer, { first, count }: FoundSegment): bigint {
  if (count !== undefined) return first + BigInt(count) - 1n;
  return (firstAfter(events, thread, first + 1n) ?? first + 1n) - 1n;
}

const dataLoss = (firstSequence: bigint, lastSequence: bigint): HeddleError =>
  new HeddleError(
    "data_loss",
    `Events ${firstSequence} to ${lastSequence} are damaged on disk: restore the data directory from a backup, or resume after ${lastSequence}`,
    { detail: { firstSequence, lastSequence } },
  );
