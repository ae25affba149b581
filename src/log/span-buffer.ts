// Gathers the bytes of a span and hands them out in memory of exactly their size.
import { frameLength } from "../thread/frame.js";

/** Where spans are put together, one at a time: a span is gathered and finished without a turn in between. */
let scratch = Buffer.allocUnsafeSlow(64 * 1024);

/** Scratch memory beyond this is for one span only. */
const scratchBytes = 1024 * 1024;

export class SpanBuffer {
  readonly #maxBytes: number;
  #buffer = scratch;
  #used = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isEmpty(): boolean {
    return this.#used === 0;
  }

  /** Copies the frames between two offsets if they all fit. */
  addAll(source: Buffer, start: number, end: number): boolean {
    if (this.#used + end - start > this.#maxBytes) return false;
    this.#add(source, start, end);
    return true;
  }

  /** Copies as many frames as fit, and at least one, into an empty span. Returns how many. */
  addSome(source: Buffer, start: number, end: number): number {
    let count = 1;
    let until = start + frameLength(source, start);
    while (until < end) {
      const next = until + frameLength(source, until);
      if (next - start > this.#maxBytes) break;
      until = next;
      count++;
    }
    this.#add(source, start, until);
    return count;
  }

  finish(): Buffer {
    return Buffer.from(this.#buffer.subarray(0, this.#used));
  }

  #add(source: Buffer, start: number, end: number): void {
    const used = this.#used + end - start;
    if (used > this.#buffer.length) this.#grow(used);
    source.copy(this.#buffer, this.#used, start, end);
    this.#used = used;
  }

  #grow(needed: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#used);
    this.#buffer = grown;
    if (grown.length <= scratchBytes) scratch = grown;
  }
}
