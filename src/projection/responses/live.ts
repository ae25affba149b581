// Responses that are being followed: each is folded once, however many follow it, and its events are encoded once. A follower is a
// position. One that is slow, or comes late, finds what it needs in what is kept; what is not kept any more is folded again.
import type { StoredResponse } from "../../responses.js";
import { encoded, type NumberedFrame } from "./events.js";
import { responseId } from "./response-id.js";

/** Encoded events that follow one another, as one write, and the number of the last of them. */
export interface Piece {
  readonly bytes: Buffer;
  readonly last: number;
}

/** What is kept of one response for those who follow it. */
const keptBytes = 4 * 1024 * 1024;
/** What goes out in one write. */
const pieceBytes = 256 * 1024;

type Fold = (stored: StoredResponse, signal: AbortSignal) => AsyncGenerator<NumberedFrame, unknown>;

export class LiveResponses {
  readonly #fold: Fold;
  readonly #live = new Map<string, Live>();

  constructor(fold: Fold) {
    this.#fold = fold;
  }

  /** Responses that are folded now. */
  get size(): number {
    return this.#live.size;
  }

  /** Everything after the number, to the response's end; waits for what is to come. Rejects when it cannot be read. */
  async *follow(stored: StoredResponse, after: number, signal: AbortSignal): AsyncGenerator<Piece> {
    const live = this.#join(stored);
    let wake = (): void => {};
    const onAbort = (): void => {
      live.forget(wake);
      wake();
    };
    signal.addEventListener("abort", onAbort);
    try {
      let position = after;
      for (;;) {
        const piece = live.isBehind(position)
          ? await this.#again(stored, { after: position, before: live.first }, signal)
          : live.after(position);
        if (piece) {
          position = piece.last;
          yield piece;
        } else if (live.isOver || signal.aborted) break;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
            live.onNews(resolve);
          });
      }
      live.rethrow();
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#leave(stored, live);
    }
  }

  #join(stored: StoredResponse): Live {
    const id = responseId(stored);
    const known = this.#live.get(id);
    const live = known ?? new Live((signal) => this.#fold(stored, signal));
    this.#live.set(id, live);
    live.followers++;
    return live;
  }

  #leave(stored: StoredResponse, live: Live): void {
    if (--live.followers > 0) return;
    live.stop();
    if (this.#live.get(responseId(stored)) === live) this.#live.delete(responseId(stored));
  }

  /** What is not kept any more, as far as one write goes. */
  async #again(
    stored: StoredResponse,
    { after, before }: { after: number; before: number },
    signal: AbortSignal,
  ): Promise<Piece | undefined> {
    const buffers: Buffer[] = [];
    let last = after;
    let bytes = 0;
    for await (const frame of this.#fold(stored, signal)) {
      if (frame.number <= after) continue;
      if (frame.number >= before || bytes > pieceBytes) break;
      const buffer = encoded(frame);
      buffers.push(buffer);
      bytes += buffer.length;
      last = frame.number;
    }
    return buffers.length === 0 ? undefined : { bytes: Buffer.concat(buffers), last };
  }
}

/** One response while it is followed. */
class Live {
  readonly #stop = new AbortController();
  #waiting = new Set<() => void>();
  #isWaking = false;
  #kept: Buffer[] = [];
  #bytes = 0;
  /** Pieces that several followers at one position want are joined once. */
  #joined: { readonly from: number; readonly piece: Piece } | undefined;
  #failure: { readonly reason: unknown } | undefined;
  /** The number of the oldest event that is kept. */
  first = 0;
  isOver = false;
  followers = 0;

  constructor(fold: (signal: AbortSignal) => AsyncGenerator<NumberedFrame, unknown>) {
    void this.#read(fold);
  }

  isBehind(position: number): boolean {
    return position + 1 < this.first;
  }

  /** Undefined when there is nothing new. */
  after(position: number): Piece | undefined {
    const from = position + 1 - this.first;
    if (from >= this.#kept.length) return undefined;
    if (this.#joined?.from === position && this.#joined.piece.last === this.first + this.#kept.length - 1)
      return this.#joined.piece;
    let to = from;
    for (let bytes = 0; to < this.#kept.length && bytes < pieceBytes; to++) bytes += this.#kept[to]!.length;
    const parts = this.#kept.slice(from, to);
    const piece = { bytes: parts.length === 1 ? parts[0]! : Buffer.concat(parts), last: this.first + to - 1 };
    this.#joined = { from: position, piece };
    return piece;
  }

  /** Told once, when there is more, or the end. */
  onNews(wake: () => void): void {
    this.#waiting.add(wake);
  }

  forget(wake: () => void): void {
    this.#waiting.delete(wake);
  }

  rethrow(): void {
    if (this.#failure) throw this.#failure.reason;
  }

  stop(): void {
    this.#stop.abort();
  }

  async #read(fold: (signal: AbortSignal) => AsyncGenerator<NumberedFrame, unknown>): Promise<void> {
    try {
      for await (const frame of fold(this.#stop.signal)) this.#keep(encoded(frame));
    } catch (reason) {
      this.#failure = { reason };
    }
    this.isOver = true;
    this.#wake();
  }

  #keep(bytes: Buffer): void {
    this.#kept.push(bytes);
    this.#bytes += bytes.length;
    let dropped = 0;
    while (this.#bytes > keptBytes && dropped < this.#kept.length - 1) this.#bytes -= this.#kept[dropped++]!.length;
    if (dropped > 0) this.#kept = this.#kept.slice(dropped);
    this.first += dropped;
    this.#wake();
  }

  /** Once for all that has been read in one go: events of one append leave in one write. */
  #wake(): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    setImmediate(() => {
      this.#isWaking = false;
      const waiting = this.#waiting;
      this.#waiting = new Set();
      for (const wake of waiting) wake();
    });
  }
}
