// What code prints, on its way from a language's thread to the main thread of the process: in memory that both share, so that it
// takes no message a line, and code that prints without end waits instead of filling memory. One thread writes, one reads.

/** A power of two: positions count on, and turn around by themselves. */
const capacity = 1024 * 1024;
const positionBytes = 8;
/** Which stream, and how many bytes follow. */
const headBytes = 5;
const mostInOne = 64 * 1024;
/** A longer wait is looked into again: whoever should have woken us may have done so before. */
const waitMs = 100;

export type Stream = "stdout" | "stderr";

export const ringBytes = positionBytes + capacity;

export class OutputRing {
  /** How much was written, and how much of it was read. */
  readonly #positions: Int32Array;
  readonly #bytes: Uint8Array;

  constructor(memory: SharedArrayBuffer) {
    this.#positions = new Int32Array(memory, 0, 2);
    this.#bytes = new Uint8Array(memory, positionBytes, capacity);
  }

  /** Waits where there is no room. */
  write(stream: Stream, data: Uint8Array): void {
    for (let from = 0; from < data.length; from += mostInOne)
      this.#writeOne(stream, data.subarray(from, from + mostInOne));
  }

  /** All that there is, in order; what follows on the same stream is one piece. */
  read(): [stream: Stream, data: Uint8Array][] {
    const pieces: [Stream, Uint8Array][] = [];
    const end = Atomics.load(this.#positions, 0);
    let at = Atomics.load(this.#positions, 1);
    while (at !== end) {
      const head = this.#copy(at, headBytes);
      const length = new DataView(head.buffer).getUint32(1);
      const stream = head[0] === 1 ? "stderr" : "stdout";
      const data = this.#copy(at + headBytes, length);
      const last = pieces.at(-1);
      if (last?.[0] === stream) last[1] = Buffer.concat([last[1], data]);
      else pieces.push([stream, data]);
      at = (at + headBytes + length) | 0;
    }
    Atomics.store(this.#positions, 1, at);
    Atomics.notify(this.#positions, 1);
    return pieces;
  }

  #writeOne(stream: Stream, data: Uint8Array): void {
    const needed = headBytes + data.length;
    const at = Atomics.load(this.#positions, 0);
    for (let read = this.#readTo(); capacity - ((at - read) >>> 0) < needed; read = this.#readTo())
      Atomics.wait(this.#positions, 1, read, waitMs);
    const head = new Uint8Array(headBytes);
    head[0] = stream === "stderr" ? 1 : 0;
    new DataView(head.buffer).setUint32(1, data.length);
    this.#put(at, head);
    this.#put(at + headBytes, data);
    Atomics.store(this.#positions, 0, (at + needed) | 0);
  }

  #readTo(): number {
    return Atomics.load(this.#positions, 1);
  }

  #put(position: number, data: Uint8Array): void {
    const from = (position >>> 0) % capacity;
    const room = capacity - from;
    this.#bytes.set(data.subarray(0, room), from);
    if (data.length > room) this.#bytes.set(data.subarray(room), 0);
  }

  #copy(position: number, length: number): Uint8Array {
    const copy = new Uint8Array(length);
    const from = (position >>> 0) % capacity;
    const room = capacity - from;
    copy.set(this.#bytes.subarray(from, Math.min(from + length, capacity)));
    if (length > room) copy.set(this.#bytes.subarray(0, length - room), room);
    return copy;
  }
}
