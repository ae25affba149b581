// Words of tools for people.
import { limits } from "../thread/limits.js";
import { cleanSummary } from "../thread/summary.js";

/**
 * Longer than any summary. The recorder blanks out secrets before it makes the last cut (T5): a cut here that could be seen
 * there might go through a secret, and leave half of it.
 */
const lineUnits = 4 * limits.summaryUnits;

/** Text of a model or of a file system as part of a summary: one line, whatever it holds and however long it is. */
export const oneLine = (text: string): string => cleanSummary(text, lineUnits);

/** `1 entry`, `14 entries`. */
export const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`;

/** A name may hold line breaks and terminal codes; a line must not. Everything else stays as it is, for the model to use. */
export const visible = (name: string): string =>
  name.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);
