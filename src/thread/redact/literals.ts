// Secrets that are known by their value, in each of the forms in which they meet a text.
import { Automaton, noWord } from "./automaton.js";
import type { Masks } from "./masks.js";
import type { Scan } from "./scan.js";

export class Literals {
  readonly automaton: Automaton;
  readonly lengths: readonly number[];
  /** A beginning this long is hidden at a piece's end. */
  readonly hiddenFrom: number;

  constructor(values: readonly string[], hiddenFrom: number) {
    const words = [...new Set(values.flatMap(formsOf))];
    this.automaton = new Automaton(words);
    this.lengths = words.map((word) => word.length);
    this.hiddenFrom = hiddenFrom;
  }

  scan(): Scan {
    return new LiteralScan(this, 0);
  }
}

/** As it is; inside a JSON string; inside a URL; and as UTF-8 with one unit a byte, for bodies that are read as bytes. */
function formsOf(value: string): string[] {
  const wellFormed = value.replace(/\p{Surrogate}/gu, "\uFFFD");
  return [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(wellFormed),
    Buffer.from(wellFormed, "utf8").toString("latin1"),
  ];
}

class LiteralScan implements Scan {
  readonly #literals: Literals;
  #node: number;

  constructor(literals: Literals, node: number) {
    this.#literals = literals;
    this.#node = node;
  }

  take(piece: string, masks: Masks): void {
    const { automaton, lengths } = this.#literals;
    let node = this.#node;
    for (let at = 0; at < piece.length; at++) {
      if (node === 0) {
        at = automaton.skip(piece, at);
        if (at >= piece.length) break;
      }
      node = automaton.step(node, piece.charCodeAt(at));
      if (node === 0) continue;
      const word = automaton.word(node);
      if (word !== noWord) masks.add(at + 1 - lengths[word]!, at + 1);
    }
    this.#node = node;
  }

  pause(length: number, masks: Masks): void {
    const seen = this.#literals.automaton.depth(this.#node);
    if (seen >= this.#literals.hiddenFrom) masks.add(length - seen, length);
  }

  finish(): void {
    // A literal is complete or it is not: what follows does not matter.
  }

  fork(): Scan {
    return new LiteralScan(this.#literals, this.#node);
  }
}
