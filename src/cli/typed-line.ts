// A line as it is typed, key by key.

/** Nobody types more; a paste may. */
const longestLine = 1000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: arrows and other keys that are no text.
const keySequence = /\u001b(?:\[[0-?]*[ -/]*[@-~]|O.|[^[O])?/gu;
const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

export interface TypedLine {
  readonly text: string;
  /** Enter was pressed. What came behind it in the same piece is dropped. */
  readonly isComplete: boolean;
}

export const nothingTyped: TypedLine = { text: "", isComplete: false };

export function typed(line: TypedLine, keys: string): TypedLine {
  let { text } = line;
  for (const { segment: key } of graphemes.segment(keys.replace(keySequence, ""))) {
    if (/^[\r\n]/.test(key)) return { text, isComplete: true };
    if (key === "\u007f" || key === "\b") text = withoutLast(text);
    else if (key === "\u0015") text = "";
    else if (!/\p{Cc}/u.test(key) && text.length + key.length <= longestLine) text += key;
  }
  return { text, isComplete: false };
}

const withoutLast = (text: string): string =>
  [...graphemes.segment(text)]
    .slice(0, -1)
    .map(({ segment }) => segment)
    .join("");
