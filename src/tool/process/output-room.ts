// The memory that the output of all processes of a server may take together. Where it is short, whoever holds most gives up half of
// it: one that prints without end does not cost the others what they said.
import { OutputLines } from "./output-lines.js";

export interface OutputLimits {
  /** Of one process. */
  readonly processBytes: number;
  /** Of all of them, also of those that have ended and are remembered. */
  readonly allBytes: number;
}

export const outputLimits: OutputLimits = { processBytes: 1024 * 1024, allBytes: 64 * 1024 * 1024 };

export class OutputRoom {
  readonly #limits: OutputLimits;
  readonly #held = new Map<OutputLines, number>();
  #bytes = 0;

  constructor(limits: OutputLimits = outputLimits) {
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  open(): OutputLines {
    const lines: OutputLines = new OutputLines(this.#limits.processBytes, () => this.#grown(lines));
    this.#held.set(lines, 0);
    return lines;
  }

  /** It is forgotten. */
  release(lines: OutputLines): void {
    this.#bytes -= this.#held.get(lines) ?? 0;
    this.#held.delete(lines);
  }

  #grown(lines: OutputLines): void {
    this.#count(lines);
    while (this.#bytes > this.#limits.allBytes) {
      const largest = [...this.#held.keys()].reduce((a, b) => (b.heldBytes > a.heldBytes ? b : a));
      if (largest.heldBytes === 0) return;
      largest.shrinkTo(Math.floor(largest.heldBytes / 2));
      this.#count(largest);
    }
  }

  #count(lines: OutputLines): void {
    const before = this.#held.get(lines);
    if (before === undefined) return;
    this.#held.set(lines, lines.heldBytes);
    this.#bytes += lines.heldBytes - before;
  }
}
