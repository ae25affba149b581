// Joins the text of fast writers, so that a thread does not store one event per token.
//
// Text is pushed for a subject (a call or a message) on a lane (a kind of delta and, for output, its stream). A window opens
// with a subject's first piece. In a window each lane's first piece goes at once; what follows waits for the window's end.
// A window in which something waited is followed by another, in which the lanes that waited are no longer new.
//
// What a reader can rely on, per subject: the text of each lane is what was pushed, and the lanes keep their order, down to
// the unit. (A half of a surrogate pair waits for its other half, and then counts as pushed with it.)
import { limits } from "../thread/limits.js";
import { splitToUtf8Bytes, utf8Bytes } from "../thread/text.js";

export interface Delta<Lane extends string = string> {
  readonly lane: Lane;
  /** Never empty; at most `deltaBytes` of UTF-8; no surrogate pair is cut. */
  readonly text: string;
}

export interface Piece<Subject extends string = string, Lane extends string = string> {
  readonly subject: Subject;
  readonly lane: Lane;
  readonly text: string;
}

/** Runs something once, later. Gives back what calls it off. */
export type Schedule = (ms: number, run: () => void) => () => void;

export interface CoalescerOptions<Subject extends string, Lane extends string> {
  /** The longest that a piece waits. */
  readonly windowMs?: number;
  /** A subject that holds this much flushes at once. In UTF-8. */
  readonly maxBytes?: number;
  /** So does one that has changed lanes this often: each change costs an event. */
  readonly maxDeltas?: number;
  /** The largest delta. */
  readonly deltaBytes?: number;
  readonly schedule?: Schedule;
  /** Contract: takes the deltas in this order and does not throw. May push and flush. */
  readonly emit: (subject: Subject, deltas: readonly Delta<Lane>[]) => void;
}

export const coalescing = {
  windowMs: 30,
  maxBytes: limits.deltaBytes,
  maxDeltas: 100,
  deltaBytes: limits.deltaBytes,
} as const;

export class Coalescer<Subject extends string = string, Lane extends string = string> {
  readonly #options: Required<CoalescerOptions<Subject, Lane>>;
  readonly #buffers = new Map<Subject, Buffered<Lane>>();
  #isClosed = false;

  constructor(options: CoalescerOptions<Subject, Lane>) {
    this.#options = { ...coalescing, schedule: byTimer, ...options };
  }

  /** Empty text, and text after `close`, is dropped. */
  push({ subject, lane, text }: Piece<Subject, Lane>): void {
    if (this.#isClosed || text === "") return;
    const buffer = this.#bufferOf(subject);
    const { whole, half } = joinHalves(buffer.halves.get(lane) ?? "", text);
    if (half === "") buffer.halves.delete(lane);
    else buffer.halves.set(lane, half);
    if (whole === "") return;
    append(buffer, lane, whole);
    const isFirst = !buffer.lanes.has(lane);
    buffer.lanes.add(lane);
    if (isFirst || this.#isFull(buffer)) this.#emit(subject, buffer);
    // The emit may have flushed the subject.
    if (this.#buffers.get(subject) === buffer) buffer.callOff ??= this.#openWindow(subject, buffer);
  }

  /** Everything of the subject goes now, and its next piece goes at once. For lifecycle events, which must come after it. */
  flush(subject: Subject): void {
    const buffer = this.#buffers.get(subject);
    if (!buffer) return;
    this.#buffers.delete(subject);
    buffer.callOff?.();
    for (const [lane, half] of buffer.halves) append(buffer, lane, half);
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

  #bufferOf(subject: Subject): Buffered<Lane> {
    let buffer = this.#buffers.get(subject);
    if (!buffer) {
      buffer = { pending: [], bytes: 0, lanes: new Set(), halves: new Map(), callOff: undefined };
      this.#buffers.set(subject, buffer);
    }
    return buffer;
  }

  #isFull({ bytes, pending }: Buffered<Lane>): boolean {
    return bytes >= this.#options.maxBytes || pending.length >= this.#options.maxDeltas;
  }

  #openWindow(subject: Subject, buffer: Buffered<Lane>): () => void {
    return this.#options.schedule(this.#options.windowMs, () => this.#endWindow(subject, buffer));
  }

  #endWindow(subject: Subject, buffer: Buffered<Lane>): void {
    buffer.callOff = undefined;
    buffer.lanes = new Set(buffer.pending.map(({ lane }) => lane));
    if (buffer.pending.length > 0) {
      // Before the emit: it may flush the subject, which calls the new window off.
      buffer.callOff = this.#openWindow(subject, buffer);
      this.#emit(subject, buffer);
    } else if (buffer.halves.size === 0) {
      this.#buffers.delete(subject);
    }
  }

  #emit(subject: Subject, buffer: Buffered<Lane>): void {
    const deltas: Delta<Lane>[] = [];
    for (const { lane, text: whole } of buffer.pending)
      for (const text of splitToUtf8Bytes(whole, this.#options.deltaBytes)) deltas.push({ lane, text });
    buffer.pending = [];
    buffer.bytes = 0;
    if (deltas.length > 0) this.#options.emit(subject, deltas);
  }
}

/** What a subject has waiting. */
interface Buffered<Lane extends string> {
  /** In the order pushed; neighbours are of different lanes. */
  pending: { readonly lane: Lane; text: string }[];
  bytes: number;
  /** Those that are not new in this window. */
  lanes: Set<Lane>;
  /** First halves of surrogate pairs: at most one unit a lane. */
  readonly halves: Map<Lane, string>;
  callOff: (() => void) | undefined;
}

function append<Lane extends string>(buffer: Buffered<Lane>, lane: Lane, text: string): void {
  const last = buffer.pending.at(-1);
  if (last?.lane === lane) last.text += text;
  else buffer.pending.push({ lane, text });
  buffer.bytes += utf8Bytes(text);
}

function joinHalves(before: string, text: string): { whole: string; half: string } {
  const joined = before + text;
  const last = joined.charCodeAt(joined.length - 1);
  const isHalf = last >= 0xd800 && last <= 0xdbff;
  return isHalf ? { whole: joined.slice(0, -1), half: joined.slice(-1) } : { whole: joined, half: "" };
}

/** Much is flushed in the turn in which it came: the clock starts behind it. */
const byTimer: Schedule = (ms, run) => {
  let timer: NodeJS.Timeout | undefined;
  const turn = setImmediate(() => {
    timer = setTimeout(run, ms);
  });
  return () => {
    clearImmediate(turn);
    clearTimeout(timer);
  };
};
