// Where a text names one of some files. Names may have blanks and begin with one another, so they are looked for letter by letter, all at
// once (after Aho and Corasick): a text costs its length, however many names there are.
import type { Mention } from "./url-mentions.js";

/** A longer name is not looked for. */
const nameUnits = 256;
const hasEnding = /\.[\p{L}\p{N}]{1,10}$/u;
/** A name does not begin in the middle of a longer one. Scripts without blanks between words have no such middle. */
const isInside = /^(?!\p{Ideographic})[\p{L}\p{N}_./\\-]$/u;
const goesOn = /^(?:(?!\p{Ideographic})[\p{L}\p{N}_]|[-./\\][\p{L}\p{N}_])/u;
/** How file_search wants passages to be cited: `handbook.md:12-30`. */
const lines = /:\d+(?:[-–]\d+)?/y;

/** What has been read of names so far, ending here. */
interface Read<Source> {
  readonly units: number;
  readonly next: Map<string, Read<Source>>;
  /** Of the name that ends here. */
  named?: { readonly source: Source; readonly hasEnding: boolean };
  /** The longest end of it that a name begins with. */
  shorter?: Read<Source>;
  /** The longest end of it that is a name. */
  nameInside?: Read<Source> | undefined;
}

export class KnownFiles<Source> {
  readonly #nothing: Read<Source> = { units: 0, next: new Map() };
  #size = 0;
  #isLinked = false;

  get size(): number {
    return this.#size;
  }

  /** The first one of a name counts. */
  add(name: string, source: Source): void {
    if (name === "" || name.length > nameUnits) return;
    let at = this.#nothing;
    for (const unit of name.split("")) {
      const next: Read<Source> = at.next.get(unit) ?? { units: at.units + 1, next: new Map() };
      at.next.set(unit, next);
      at = next;
    }
    if (at.named) return;
    at.named = { source, hasEnding: hasEnding.test(name) };
    this.#size++;
    this.#isLinked = false;
  }

  /** In the order of the text, at most so many; none of them reaches into another. */
  mentions(text: string, most: number): Mention<Source>[] {
    const found: Mention<Source>[] = [];
    if (this.#size === 0) return found;
    this.#link();
    let at = this.#nothing;
    for (let end = 1; end <= text.length; end++) {
      at = this.#after(at, text[end - 1]!);
      const mention = this.#mention(at, text, end);
      if (!mention) continue;
      // A longer name may have begun before, with a shorter one in it.
      while (found.length > 0 && found.at(-1)!.start >= mention.start) found.pop();
      if (found.length === most) break;
      if (mention.start >= (found.at(-1)?.end ?? 0)) found.push(mention);
    }
    return found;
  }

  /** The longest name that ends here. */
  #mention(at: Read<Source>, text: string, end: number): Mention<Source> | undefined {
    const longest = at.named ? at : at.nameInside;
    if (!longest || goesOn.test(text.slice(end, end + 2))) return undefined;
    lines.lastIndex = end;
    const withLines = lines.test(text) ? lines.lastIndex : end;
    for (let name: Read<Source> | undefined = longest; name?.named; name = name.nameInside) {
      const start = end - name.units;
      if (isInside.test(text[start - 1] ?? "")) continue;
      // A name like a word is the word, unless lines say that it is not.
      if (name.named.hasEnding || withLines > end) return { start, end: withLines, source: name.named.source };
    }
    return undefined;
  }

  #after(at: Read<Source>, unit: string): Read<Source> {
    let from: Read<Source> | undefined = at;
    while (from && !from.next.has(unit)) from = from.shorter;
    return from?.next.get(unit) ?? this.#nothing;
  }

  /** Shorter ones first: each is linked by those that are. */
  #link(): void {
    if (this.#isLinked) return;
    this.#isLinked = true;
    const queue = [this.#nothing];
    for (const at of queue)
      for (const [unit, next] of at.next) {
        next.shorter = at.shorter ? this.#after(at.shorter, unit) : this.#nothing;
        next.nameInside = next.shorter.named ? next.shorter : next.shorter.nameInside;
        queue.push(next);
      }
  }
}
