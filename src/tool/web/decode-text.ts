// Bytes into text. What says most surely which encoding it is goes first: the mark at the beginning, the header, the page's
// own word, and then a look at whether it can be UTF-8 at all.
import { charsetOf } from "./media-type.js";

/** How far into a page its own word is looked for. */
const lookedAtBytes = 1_024;
/** What browsers take pages for that say nothing and are not UTF-8. */
const oldWeb = "windows-1252";

export function decodeText(bytes: Uint8Array, contentType: string | undefined): string {
  const encoding =
    markOf(bytes) ?? known(charsetOf(contentType)) ?? known(ownWord(bytes)) ?? (isUtf8(bytes) ? "utf-8" : oldWeb);
  // The decoder takes the mark away.
  return new TextDecoder(encoding).decode(bytes);
}

function markOf([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : undefined;
}

/** `<meta charset=…>`, `<meta http-equiv=… content="…; charset=…">` or `<?xml … encoding=…?>`. */
function ownWord(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, lookedAtBytes)).toString("latin1");
  const found =
    /<meta[^>]{1,300}charset\s*=\s*["']?\s*([\w.:-]{1,40})|<\?xml[^>]{1,200}encoding\s*=\s*["']([\w.:-]{1,40})/i.exec(
      start,
    );
  const label = found?.[1] ?? found?.[2];
  // Whoever could read the word in ASCII was not reading UTF-16.
  return label !== undefined && /^utf-?16/i.test(label) ? "utf-8" : label;
}

/** A label that nobody knows says nothing. */
function known(label: string | undefined): string | undefined {
  try {
    return label === undefined ? undefined : new TextDecoder(label).encoding;
  } catch {
    return undefined;
  }
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
