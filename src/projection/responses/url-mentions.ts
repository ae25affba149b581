// Where a text names one of some URLs. A URL is looked at once, as a whole: one that another begins with is not named by it.

export interface Mention<Source> {
  /** UTF-16 units; the end is exclusive. */
  readonly start: number;
  readonly end: number;
  readonly source: Source;
}

/** Not in the middle of something, such as the query of another URL; then all that a URL may consist of, to the next one. */
const urls = /(?<![\w/=?&%#@+$-])https?:\/\/(?:(?![,;]https?:\/\/)[\w!#$%&'()*+,./:;=?@~-])+/gi;
/** It goes on behind that, as people write URLs. Scripts without blanks between words go on behind a slash only, and may be the next word. */
const goesOn = /^(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}])[\p{L}\p{N}]|\[)/u;
const goesOnBehindSlash = /^[\p{L}\p{N}]/u;
/** More than this is no URL of a search. */
const urlUnits = 2_000;
/** Marks behind a URL that are not of it: ends of sentences, brackets and emphasis. */
const mostMarks = 8;
const isMark = (character: string): boolean => ".,;:!?'\")*_~".includes(character);
/** What a link may say. */
const linkUnits = 300;

export class KnownUrls<Source> {
  readonly #byKey = new Map<string, Source>();

  /** The first one of a URL counts. */
  add(url: string, source: Source): void {
    const key = keyOf(url);
    if (!this.#byKey.has(key)) this.#byKey.set(key, source);
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** In the order of the text, at most so many; none of them reaches into another. */
  mentions(text: string, most: number): Mention<Source>[] {
    const found: Mention<Source>[] = [];
    if (this.size === 0) return found;
    for (const { 0: run, index } of text.matchAll(urls)) {
      const rest = text.slice(index + run.length, index + run.length + 2);
      if ((run.endsWith("/") ? goesOnBehindSlash : goesOn).test(rest)) continue;
      const known = this.#known(run);
      if (!known) continue;
      const mention = { ...asLink(text, index, index + known.units), source: known.source };
      // A link that says its own URL names it once.
      while (found.length > 0 && found.at(-1)!.start >= mention.start) found.pop();
      if (found.length === most) break;
      found.push(mention);
    }
    return found;
  }

  #known(run: string): { readonly units: number; readonly source: Source } | undefined {
    if (run.length > urlUnits + mostMarks) return undefined;
    let units = run.length;
    for (; units > 0 && units >= run.length - mostMarks; units--) {
      const source = this.#byKey.get(keyOf(run.slice(0, units)));
      if (source !== undefined) return { units, source };
      if (!isMark(run[units - 1]!)) break;
    }
    // A place in a page is the page.
    const source = this.#byKey.get(keyOf(run.slice(0, units).replace(/#.*$/, "")));
    return source === undefined ? undefined : { units, source };
  }
}

/** A slash at the end, and how a host is written, make no difference. */
const keyOf = (url: string): string =>
  url.replace(/^https?:\/\/[^/?#]*/i, (origin) => origin.toLowerCase()).replace(/\/$/, "");

/** `[words](url)` is named as a whole, with the brackets that are around it alone, as OpenAI does: `([words](url))`. */
function asLink(text: string, start: number, end: number): { readonly start: number; readonly end: number } {
  if (!text.startsWith("](", start - 2) || text[end] !== ")") return { start, end };
  const opening = openingOf(text, start - 2);
  if (opening === undefined) return { start, end };
  const link = { start: opening, end: end + 1 };
  const isAlone = text[link.start - 1] === "(" && text[link.end] === ")";
  return isAlone ? { start: link.start - 1, end: link.end + 1 } : link;
}

/** Where the bracket is that the one there closes. */
function openingOf(text: string, closing: number): number | undefined {
  const first = Math.max(0, closing - linkUnits);
  for (let [at, open] = [closing - 1, 1]; at >= first; at--) {
    if (text[at] === "]") open++;
    if (text[at] === "[" && --open === 0) return at;
  }
  return undefined;
}
