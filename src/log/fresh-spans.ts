// Frames that have just been flushed, for whoever waits for them: the tail of a thread would otherwise read back at once
// what was written a moment ago. What is not taken is in the log all the same.
import type { Span } from "./event-log.js";

/** Larger ones are read from the log: they are rare, and would be held twice. */
const keptBytes = 64 * 1024;
/** Left behind by those who stopped waiting between the flush and the read. */
const keptThreads = 256;

export class FreshSpans {
  readonly #spans = new Map<string, Span>();

  /** Contract: the frames are flushed. They are copied: their memory is the caller's. */
  landed(thread: string, first: bigint, frames: readonly Uint8Array[]): void {
    this.#spans.delete(thread);
    let length = 0;
    for (const frame of frames) length += frame.length;
    if (length === 0 || length > keptBytes) return;
    const last = first + BigInt(frames.length) - 1n;
    this.#spans.set(thread, { first, last, bytes: Buffer.concat(frames, length) });
    if (this.#spans.size > keptThreads) this.#dropOldest();
  }

  /** What is directly after a position, once. */
  take(thread: string, after: bigint, maxBytes: number): Span | undefined {
    const span = this.#spans.get(thread);
    if (span?.first !== after + 1n || span.bytes.length > maxBytes) return undefined;
    this.#spans.delete(thread);
    return span;
  }

  delete(thread: string): void {
    this.#spans.delete(thread);
  }

  clear(): void {
    this.#spans.clear();
  }

  #dropOldest(): void {
    for (const oldest of this.#spans.keys()) {
      this.#spans.delete(oldest);
      return;
    }
  }
}
