// What file_search needs of the documents (src/documents).

export interface FoundPassage {
  readonly collection: string;
  readonly documentName: string;
  /** Counted from 1, in the document's text. */
  readonly firstLine: number;
  readonly lastLine: number;
  /** Counted from 1. Undefined where the document has no pages. */
  readonly page: number | undefined;
  /** The headings above it, outermost first. */
  readonly headings: readonly string[];
  readonly text: string;
  /** Larger is better; comparable within one answer. */
  readonly score: number;
}

export interface DocumentQuery {
  readonly query: string;
  /** Undefined: all of them. */
  readonly collection: string | undefined;
  readonly limit: number;
  readonly signal: AbortSignal;
}

export interface DocumentAnswer {
  /** The best first. */
  readonly passages: readonly FoundPassage[];
  readonly ranking: "text" | "hybrid";
}

export interface DocumentSearch {
  /** How many documents there are, in the collection or in all. */
  count(collection?: string): Promise<number>;
  search(query: DocumentQuery): Promise<DocumentAnswer>;
}
