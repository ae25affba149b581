// A passage: a piece of a document that is found and cited as one.

export interface Passage {
  /** Counted from 1 in the document's text, as file tools count lines. */
  readonly firstLine: number;
  readonly lastLine: number;
  /** The page it is on, from 1. Undefined where the document has no pages. */
  readonly page: number | undefined;
  /** The headings above it, outermost first. */
  readonly headings: readonly string[];
  readonly text: string;
}
