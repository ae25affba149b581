// Joins the text of fast writers, so that a thread does not store one event per token.
//
// Text is pushed for a subject (a call or a message) on a lane (a kind of delta and, for output, its stream). A window opens
// with a subject's first piece. In a window each lane's first piece goes at once; what follows waits for the window's end.
// A window in which something waited is followed by another, in which the lanes that waited are no longer new.
//
// What a reader can rely on, per subject: the text of each lane is what was pushed, and the lanes keep their order, down to
// the unit. (A half of a surrogate pair waits for its other half, and then counts as pushed with it.) Only neighbours of one
// lane are joined, so that lanes that take turns cost an event a piece.
//
// An aside is a lane whose place among the others says nothing, because it says what they say in other words. It is joined
// whatever comes between its pieces, and the lanes beside it are joined as if it were not there. It runs ahead of them, and is
// never behind: a piece is given out after all that was pushed to an aside before it.
import { ForkedMap } from "../thread/forked-map.js";
import { limits } from "../thread/limits.js";
import { splitToUtf8Bytes, utf8Bytes } from "../thread/text.js";
import { behindTurn } from "./behind-turn.js";

export interface Delta<Origin = unknown> {
  readonly lane: string;
  /** Never empty; at most `deltaBytes` of UTF-8; no surrogate pair is cut. */
  readonly text: string;
  /** That of a piece of the lane. */
  readonly origin: Origin;
}

export interface Piece<Origin = unknown> {
  readonly subject: string;
  /** Among those of its subject. */
  readonly lane: string;
  /** Other lanes may be overtaken by this one. The same in all pieces of a lane. */
  readonly isAside?: boolean;
  readonly text: string;
  /** What the text came with, and is told with. The same in all pieces of a lane. */
  readonly origin: Origin;
}

/** Runs something once, later. Gives back what calls it off. */
export type Schedule = (ms: number, run: () => void) => () => void;

export interface CoalescerOptions<Origin> {
  /** The longest that a piece waits. */
  readonly windowMs?: number;
  /** A subject that holds this much flushes at once. In UTF-8. */
  readonly maxBytes?: number;
  /** So does one that holds this many: each change of lanes makes one more. */
  readonly maxDeltas?: number;
  /** The largest delta. */
  readonly deltaBytes?: number;
  readonly schedule?: Schedule;
  /** Contract: takes the deltas in this order and does not throw. May push and flush. */
  readonly emit: (subject: string, deltas: readonly Delta<Origin>[]) => void;
}

export const coalescing = {
  windowMs: 30,
  maxBytes: limits.deltaBytes,
  maxDeltas: 100,
  deltaBytes: limits.deltaBytes,
} as const;

export class Coalescer<Origin = unknown> {
  readonly #options: Required<CoalescerOptions<Origin>>;
  readonly #buffers = new ForkedMap<string, Buffered<Origin>>();
  #isClosed = false;

  constructor(options: CoalescerOptions<Origin>) {
    this.#options = { ...coalescing, schedule: byTimer, ...options };
  }

  /** Empty text, and text after `close`, is dropped. */
  push({ subject, lane, isAside = false, text, origin }: Piece<Origin>): void {
    if (this.#isClosed || text === "") return;
    const buffer = this.#bufferOf(subject);
    const piece = { lane, isAside, text, origin };
    piece.text = withoutHalf(buffer, piece);
    if (piece.text === "") return;
    append(buffer, piece);
    const isFirst = !buffer.lanes.includes(lane);
    if (isFirst) buffer.lanes.push(lane);
    if (isFirst || this.#isFull(buffer)) this.#emit(subject, buffer);
    // The emit may have flushed the subject.
    if (this.#buffers.get(subject) === buffer) buffer.callOff ??= this.#openWindow(subject, buffer);
  }

  /** Everything of the subject goes now, and its next piece goes at once. For lifecycle events, which must come after it. */
  flush(subject: string): void {
    const buffer = this.#buffers.get(subject);
    if (!buffer) return;
    this.#buffers.delete(subject);
    buffer.callOff?.();
    for (const half of buffer.halves) append(buffer, half);
    this.#emit(subject, buffer);
  }

  flushAll(): void {
    for (const subject of [...this.#buffers.keys()]) this.flush(subject);
  }

  /** Flushes everything. Nothing is emitted afterwards. */
  close(): void {
    this.#isClosed = true;
    this.flushAll();
  }

  #bufferOf(subject: string): Buffered<Origin> {
    let buffer = this.#buffers.get(subject);
    if (!buffer) {
      buffer = { asides: [], pending: [], bytes: 0, lanes: [], halves: [], callOff: undefined };
      this.#buffers.set(subject, buffer);
    }
    return buffer;
  }

  #isFull({ bytes, asides, pending }: Buffered<Origin>): boolean {
    return bytes >= this.#options.maxBytes || asides.length + pending.length >= this.#options.maxDeltas;
  }

  #openWindow(subject: string, buffer: Buffered<Origin>): () => void {
    return this.#options.schedule(this.#options.windowMs, () => this.#endWindow(subject, buffer));
  }

  #endWindow(subject: string, buffer: Buffered<Origin>): void {
    buffer.callOff = undefined;
    const waiting = inOrder(buffer);
    buffer.lanes = [...new Set(waiting.map(({ lane }) => lane))];
    if (waiting.length > 0) {
      // Before the emit: it may flush the subject, which calls the new window off.
      buffer.callOff = this.#openWindow(subject, buffer);
      this.#emit(subject, buffer);
    } else if (buffer.halves.length === 0) {
      this.#buffers.delete(subject);
    }
  }

  #emit(subject: string, buffer: Buffered<Origin>): void {
    const deltas: Delta<Origin>[] = [];
    for (const { lane, text: whole, origin } of inOrder(buffer))
      for (const text of splitToUtf8Bytes(whole, this.#options.deltaBytes)) deltas.push({ lane, text, origin });
    if (buffer.asides.length > 0) buffer.asides = [];
    buffer.pending = [];
    buffer.bytes = 0;
    if (deltas.length > 0) this.#options.emit(subject, deltas);
  }
}

/** What a subject has waiting. Its lanes are few: they are looked through one by one. */
interface Buffered<Origin> {
  /** One a lane. */
  asides: Waiting<Origin>[];
  /** Of the other lanes, in the order pushed; neighbours are of different lanes. */
  pending: Waiting<Origin>[];
  bytes: number;
  /** Those that are not new in this window. */
  lanes: string[];
  /** First halves of surrogate pairs: at most one unit a lane. */
  readonly halves: Waiting<Origin>[];
  callOff: (() => void) | undefined;
}

interface Waiting<Origin> {
  readonly lane: string;
  readonly isAside: boolean;
  text: string;
  readonly origin: Origin;
}

function append<Origin>(buffer: Buffered<Origin>, piece: Waiting<Origin>): void {
  const list = piece.isAside ? buffer.asides : buffer.pending;
  const open = piece.isAside ? list.find(({ lane }) => lane === piece.lane) : list.at(-1);
  if (open?.lane === piece.lane) open.text += piece.text;
  else list.push(piece);
  buffer.bytes += utf8Bytes(piece.text);
}

/** Asides go first: nothing may come before what was pushed to them before it. */
const inOrder = <Origin>({ asides, pending }: Buffered<Origin>): readonly Waiting<Origin>[] =>
  asides.length > 0 ? [...asides, ...pending] : pending;

/** The lane's text up to a half of a surrogate pair at its end, which waits for its other half. */
function withoutHalf<Origin>({ halves }: Buffered<Origin>, piece: Waiting<Origin>): string {
  const { lane, text } = piece;
  const before = halves.findIndex((half) => half.lane === lane);
  const joined = before < 0 ? text : halves.splice(before, 1)[0]!.text + text;
  const last = joined.charCodeAt(joined.length - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  if (isHalf) halves.push({ ...piece, text: joined.slice(-1) });
  return isHalf ? joined.slice(0, -1) : joined;
}

/** Much is flushed in the turn in which it came: the clock starts behind it. */
const byTimer: Schedule = (ms, run) => {
  let timer: NodeJS.Timeout | undefined;
  const callOff = behindTurn(() => {
    timer = setTimeout(run, ms);
  });
  return () => {
    callOff();
    clearTimeout(timer);
  };
};
