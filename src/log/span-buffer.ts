// Gathers the bytes of a span. What it hands out never holds on to much more memory than its bytes.
import { frameLength } from "../thread/frame.js";

/** First size once a second piece arrives: small spans are one piece and get exactly their size. */
const growthBytes = 64 * 1024;

export class SpanBuffer {
  readonly #maxBytes: number;
  #buffer = Buffer.alloc(0);
  #used = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isEmpty(): boolean {
    return this.#used === 0;
  }

  /** Copies all of the frames if they fit. */
  addAll(frames: Buffer): boolean {
    if (this.#used + frames.length > this.#maxBytes) return false;
    this.#copy(frames);
    return true;
  }

  /** Copies those that fit, and one in any case if there is none yet. Returns how many. */
  addSome(frames: Buffer): number {
    let count = 0;
    let bytes = 0;
    while (bytes < frames.length) {
      const length = frameLength(frames, bytes);
      const isFirst = this.isEmpty && count === 0;
      if (!isFirst && this.#used + bytes + length > this.#maxBytes) break;
      bytes += length;
      count++;
    }
    this.#copy(frames.subarray(0, bytes));
    return count;
  }

  finish(): Buffer {
    const bytes = this.#buffer.subarray(0, this.#used);
    return this.#used * 2 < this.#buffer.length ? Buffer.from(bytes) : bytes;
  }

  #copy(frames: Buffer): void {
    const needed = this.#used + frames.length;
    if (needed > this.#buffer.length) this.#grow(needed);
    frames.copy(this.#buffer, this.#used);
    this.#used = needed;
  }

  #grow(needed: number): void {
    const doubled = Math.min(Math.max(growthBytes, this.#buffer.length * 2), this.#maxBytes);
    const grown = Buffer.allocUnsafe(this.isEmpty ? needed : Math.max(needed, doubled));
    this.#buffer.copy(grown, 0, 0, this.#used);
    this.#buffer = grown;
  }
}
