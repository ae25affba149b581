// A document as text: what passages are cut from, and what their lines are counted in.

export interface DocumentText {
  /** Without line ends: what is between them. */
  readonly lines: readonly string[];
  /** Where pages begin, as indexes of `lines`; the first one is 0. Empty where there are no pages. */
  readonly pageStarts: readonly number[];
  /** Whether lines that look like headings of Markdown are headings. */
  readonly hasHeadings: boolean;
}

/** Lines as file tools count them: LF ends one, a CR before it belongs to the end, and nothing follows the last end. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
}
