// Cutting text to a size in UTF-8 without breaking a code point. A lone surrogate counts as U+FFFD, which is what it is
// encoded as.
import { HeddleError } from "./errors.js";

/** The smallest bound that any code point fits in. */
const codePointBytes = 4;

const encoder = new TextEncoder();

/** The text in pieces of at most `maxBytes` of UTF-8 each, cut on code point borders. No text gives no pieces. */
export function splitToUtf8Bytes(text: string, maxBytes: number): string[] {
  if (!(maxBytes >= codePointBytes)) {
    throw new HeddleError("internal", `a text cannot be split into ${maxBytes} bytes: use ${codePointBytes} or more`);
  }
  const pieces: string[] = [];
  if (text !== "" && fitsUtf8(text, maxBytes)) return [text];
  const scratch = new Uint8Array(maxBytes);
  for (let rest = text; rest !== ""; ) {
    const { read } = encoder.encodeInto(rest, scratch);
    pieces.push(rest.slice(0, read));
    rest = rest.slice(read);
  }
  return pieces;
}

export const utf8Bytes = (text: string): number => Buffer.byteLength(text, "utf8");

/** A UTF-16 unit is one to three bytes: most texts are decided by their length alone. */
export const fitsUtf8 = (text: string, maxBytes: number): boolean =>
  text.length * 3 <= maxBytes || (text.length <= maxBytes && utf8Bytes(text) <= maxBytes);
