// Reads the JSON that a model is still writing and gives the text of chosen fields as it comes, so that what an agent says to
// its user inside a tool call's input is shown before the input is complete.
//
// It is a machine over single UTF-16 units. It keeps a state, the open brackets, a key no longer than the longest field, and at
// most one unit of text; each unit is looked at a fixed number of times. The time is linear however the input is cut.
import { firstNumberState, type NumberState, nextNumberState } from "./json-number.js";

/** Input with more open brackets is taken for broken, so that nobody can make the reader remember more. */
export const deepestNesting = 1024;

export interface FieldText {
  readonly field: string;
  readonly text: string;
}

/** Where the reader is: between tokens (what may come next), inside one, or silent for good. */
type State = Structure | "string" | "escape" | "hex" | "word" | "number" | "silent";
type Structure = "root" | "first key" | "key" | "colon" | "first item" | "value" | "after value" | "end";

/** What the string that is being read is for. Only a field's key and a field's text are kept. */
type StringUse = "key" | "inner key" | "text" | "other value";

/**
 * Contract: for valid JSON the texts of a field, joined, are the value that JSON.parse gives it, with U+FFFD for a surrogate
 * that has no partner. Only fields of the outermost object count, and of their values only strings. A key that comes twice
 * gives both values, one after the other: what was shown cannot be taken back. Where the input stops being JSON the reader
 * falls silent for good. It never throws.
 */
export class JsonTextReader {
  readonly #fields: ReadonlySet<string>;
  readonly #longestField: number;
  readonly #open: ("{" | "[")[] = [];
  #state: State = "root";
  #use: StringUse = "other value";
  /** The latest key of the outermost object. One longer than every field is kept only as far as it takes to see that. */
  #key = "";
  /** Decoded since the last push. */
  #text = "";
  /** A high surrogate at the end of a push: it waits for its partner. */
  #held = "";
  #escape = { unit: 0, digits: 0 };
  /** What must still come of `true`, `false` or `null`. */
  #wordRest = "";
  #number: NumberState = "minus";
  #found: FieldText[] = [];

  constructor(fields: ReadonlySet<string> | readonly string[]) {
    this.#fields = new Set(fields);
    this.#longestField = Math.max(0, ...[...this.#fields].map((field) => field.length));
  }

  /** Takes the next piece of the input. Gives the text that it adds, one entry a value, in the order of the input. */
  push(piece: string): readonly FieldText[] {
    for (let at = 0; at < piece.length && this.#state !== "silent"; ) at = this.#read(piece, at);
    if (this.#use === "text") this.#tell({ isWhole: false });
    if (this.#found.length === 0) return nothing;
    const found = this.#found;
    this.#found = [];
    return found;
  }

  /** Reads a unit, or inside a string a run of them. Returns the place to go on from. */
  #read(piece: string, at: number): number {
    const state = this.#state;
    if (state === "string") return this.#readString(piece, at);
    const unit = piece.charCodeAt(at);
    if (state === "number") return this.#readNumber(unit) ? at + 1 : at;
    if (state === "escape") this.#readEscape(unit);
    else if (state === "hex") this.#readHexDigit(unit);
    else if (state === "word") this.#readWord(unit);
    else if (state !== "silent" && !isSpace(unit)) this.#state = this.#afterToken(state, unit);
    return at + 1;
  }

  #afterToken(state: Structure, unit: number): State {
    switch (state) {
      case "root":
        return unit === openBrace ? this.#enter("{") : "silent";
      case "first key":
        return unit === closeBrace ? this.#leave("{") : this.#beginKey(unit);
      case "key":
        return this.#beginKey(unit);
      case "colon":
        return unit === colon ? "value" : "silent";
      case "first item":
        return unit === closeBracket ? this.#leave("[") : this.#beginValue(unit);
      case "value":
        return this.#beginValue(unit);
      case "after value":
        if (unit === comma) return this.#open.at(-1) === "{" ? "key" : "value";
        return unit === closeBrace ? this.#leave("{") : unit === closeBracket ? this.#leave("[") : "silent";
      case "end":
        return "silent";
    }
  }

  #enter(bracket: "{" | "["): State {
    if (this.#open.length === deepestNesting) return "silent";
    this.#open.push(bracket);
    return bracket === "{" ? "first key" : "first item";
  }

  #leave(bracket: "{" | "["): State {
    if (this.#open.pop() !== bracket) return "silent";
    return this.#open.length === 0 ? "end" : "after value";
  }

  #beginKey(unit: number): State {
    if (unit !== quote) return "silent";
    this.#use = this.#open.length === 1 ? "key" : "inner key";
    if (this.#use === "key") this.#key = "";
    return "string";
  }

  #beginValue(unit: number): State {
    if (unit === openBrace) return this.#enter("{");
    if (unit === openBracket) return this.#enter("[");
    if (unit === quote) {
      this.#use = this.#open.length === 1 && this.#fields.has(this.#key) ? "text" : "other value";
      return "string";
    }
    const rest = wordRests.get(unit);
    if (rest !== undefined) {
      this.#wordRest = rest;
      return "word";
    }
    const number = firstNumberState(unit);
    if (number === undefined) return "silent";
    this.#number = number;
    return "number";
  }

  #readString(piece: string, start: number): number {
    let end = start;
    let unit = Number.NaN;
    for (; end < piece.length; end++) {
      unit = piece.charCodeAt(end);
      if (unit === quote || unit === backslash || unit < firstPlainUnit) break;
    }
    if (end > start && (this.#use === "text" || this.#use === "key")) this.#keep(piece.slice(start, end));
    if (end === piece.length) return end;
    this.#state = unit === quote ? this.#endString() : unit === backslash ? "escape" : "silent";
    return end + 1;
  }

  #endString(): State {
    const use = this.#use;
    if (use === "text") this.#tell({ isWhole: true });
    this.#use = "other value";
    return use === "key" || use === "inner key" ? "colon" : "after value";
  }

  #readEscape(unit: number): void {
    const decoded = escapes.get(unit);
    if (decoded !== undefined) this.#keep(decoded);
    else if (unit === letterU) this.#escape = { unit: 0, digits: 0 };
    this.#state = decoded !== undefined ? "string" : unit === letterU ? "hex" : "silent";
  }

  #readHexDigit(unit: number): void {
    const value = hexValue(unit);
    if (value === undefined) {
      this.#state = "silent";
      return;
    }
    this.#escape.unit = this.#escape.unit * 16 + value;
    this.#escape.digits++;
    if (this.#escape.digits < 4) return;
    this.#keep(String.fromCharCode(this.#escape.unit));
    this.#state = "string";
  }

  #readWord(unit: number): void {
    if (unit !== this.#wordRest.charCodeAt(0)) this.#state = "silent";
    else this.#wordRest = this.#wordRest.slice(1);
    if (this.#wordRest === "") this.#state = "after value";
  }

  /** False: the number has ended before this unit, which is still to be read. */
  #readNumber(unit: number): boolean {
    const next = nextNumberState(this.#number, unit);
    if (next === "broken") this.#state = "silent";
    else if (next === "over") this.#state = "after value";
    else this.#number = next;
    return next !== "over";
  }

  #keep(decoded: string): void {
    if (this.#use === "text") this.#text += decoded;
    else if (this.#use === "key") this.#key += decoded.slice(0, this.#longestField + 1 - this.#key.length);
  }

  #tell({ isWhole }: { isWhole: boolean }): void {
    const text = this.#held + this.#text;
    const waits = !isWhole && isHighSurrogate(text.charCodeAt(text.length - 1));
    this.#held = waits ? text.slice(-1) : "";
    this.#text = "";
    const told = (waits ? text.slice(0, -1) : text).replace(loneSurrogate, "\uFFFD");
    if (told !== "") this.#found.push({ field: this.#key, text: told });
  }
}

const nothing: readonly FieldText[] = Object.freeze([]);
const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const letterU = 0x75;
const openBrace = 0x7b;
const closeBrace = 0x7d;
/** Below it are the control characters, which a string must escape. */
const firstPlainUnit = 0x20;
const loneSurrogate = /\p{Surrogate}/gu;

const wordRests = new Map(["true", "false", "null"].map((word) => [word.charCodeAt(0), word.slice(1)]));
/** What stands behind a backslash, and what it means, in pairs. */
const escapes = new Map(
  ['""', "\\\\", "//", "b\b", "f\f", "n\n", "r\r", "t\t"].map((pair) => [pair.charCodeAt(0), pair.charAt(1)]),
);

const isSpace = (unit: number): boolean => unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

function hexValue(unit: number): number | undefined {
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30;
  const lower = unit | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : undefined;
}
