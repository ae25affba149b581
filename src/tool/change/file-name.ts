// Names of files as diffs write them: as they are where they can be seen, else in quotes with escapes, as git and GNU diff do.
import { ToolFailure } from "../tool.js";

const hidden = /["\\\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;
const escapes: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, "\\": 92 };
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What is hidden in a name or could break its line is shown as the bytes it is made of. */
export function quoteName(name: string): string {
  const quoted = name.replace(hidden, (char) => {
    if (char === '"' || char === "\\") return `\\${char}`;
    return [...Buffer.from(char)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
  });
  return quoted === name ? name : `"${quoted}"`;
}

/** The name at the start of what follows a header's word: up to the end of the quotes, or up to a tab, where a date may follow. */
export function readName(rest: string): string {
  if (!rest.startsWith('"')) return rest.replace(/\t.*$/s, "").replace(/\r$/, "");
  const quoted = /^"((?:[^"\\]|\\.)*)"/s.exec(rest)?.[1];
  if (quoted === undefined) throw unreadable();
  return unescaped(quoted);
}

function unescaped(quoted: string): string {
  const pieces = [...quoted.matchAll(/\\([0-3][0-7]{2})|\\(.)|([^\\]+)/gs)].map(([, octal, letter, plain]) => {
    if (plain !== undefined) return Buffer.from(plain);
    const byte = octal === undefined ? escapes[letter ?? ""] : Number.parseInt(octal, 8);
    if (byte === undefined) throw unreadable();
    return Buffer.of(byte);
  });
  try {
    return utf8.decode(Buffer.concat(pieces));
  } catch (cause) {
    throw unreadable(cause);
  }
}

const unreadable = (cause?: unknown): ToolFailure =>
  new ToolFailure("The patch has a quoted file name that cannot be read; write the name without quotes", {
    code: "EINVAL",
    cause,
  });
