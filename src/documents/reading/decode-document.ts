// Bytes of a text document into text: UTF-8, or UTF-16 where a byte-order mark says so.
import { unsupported } from "../check-upload.js";

/** Throws `unsupported_document`. */
export function decodeDocument(bytes: Uint8Array): string {
  const text = decoded(bytes, encodingOf(bytes));
  if (text.includes("\0"))
    throw unsupported("The document is not text: convert it to UTF-8 text, or set the media_type that it is of");
  return text;
}

function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
}

function decoded(bytes: Uint8Array, encoding: string): string {
  try {
    // The decoder takes the mark away.
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (cause) {
    throw unsupported(`The document is no ${encoding.toUpperCase()} text: convert it to UTF-8`, cause);
  }
}
