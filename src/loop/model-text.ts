// What the model is told about a result: text within a bound. What is cut is said; the whole is in the call's result.
import { fitsUtf8, splitToUtf8Bytes, utf8Bytes } from "../thread/text.js";

/** Large enough for a file or a test run, small enough that ten of them fit into a context. */
export const modelTextBytes = 64 * 1024;

/** Most of what is kept is the beginning; the end often says how it went. */
const headShare = 0.75;

export function boundedForModel(text: string, maxBytes: number = modelTextBytes): string {
  if (fitsUtf8(text, maxBytes)) return text;
  const bytes = utf8Bytes(text);
  const note = `\n[… ${bytes} bytes in all; the middle was left out …]\n`;
  const room = Math.max(8, maxBytes - utf8Bytes(note));
  const headBytes = Math.max(4, Math.floor(room * headShare));
  const head = splitToUtf8Bytes(text.slice(0, headBytes), headBytes)[0] ?? "";
  return head + note + tailOf(text, Math.max(4, room - headBytes));
}

/** The last bytes of a text, from a code point's beginning on. */
function tailOf(text: string, maxBytes: number): string {
  let start = Math.max(0, text.length - maxBytes);
  while (utf8Bytes(text.slice(start)) > maxBytes)
    start += Math.max(1, Math.ceil((utf8Bytes(text.slice(start)) - maxBytes) / 3));
  const first = text.charCodeAt(start);
  return text.slice(first >= 0xdc00 && first <= 0xdfff ? start + 1 : start);
}
