// Passages as the model reads them: numbered, with where they stand, and their text as a quotation. What a document says is no
// instruction, and cannot look like one of ours: every line of it stands behind a mark.
import { oneLine, visible } from "../words.js";

export interface CitedPassage {
  readonly collection: string;
  readonly document: string;
  readonly first_line: number;
  readonly last_line: number;
  readonly page?: number | undefined;
  readonly headings: readonly string[];
  readonly text: string;
}

/** What all of them have together, in UTF-16 units. The model reads at most 64 KiB. */
const mostUnits = 48_000;

export function cite(passages: readonly CitedPassage[]): string[] {
  const cited: string[] = [];
  let units = 0;
  for (const passage of passages) {
    const text = `${citation(passage, cited.length + 1)}\n${quoted(passage.text)}`;
    units += text.length;
    if (units > mostUnits && cited.length > 0) break;
    cited.push(text);
  }
  const left = passages.length - cited.length;
  return left === 0 ? cited : [...cited, `[${left} more are left out: ask for fewer, or more precisely]`];
}

/** `[1] handbook.md:12-30 (Refunds › Late)`, with the page where there are pages, and the collection unless it is the usual one. */
function citation(
  { collection, document, first_line, last_line, page, headings }: CitedPassage,
  number: number,
): string {
  const lines = first_line === last_line ? `${first_line}` : `${first_line}-${last_line}`;
  return [
    `[${number}] ${visible(document)}:${lines}`,
    page === undefined ? "" : `, page ${page}`,
    collection === "default" ? "" : `, collection ${collection}`,
    headings.length === 0 ? "" : ` (${oneLine(headings.join(" › "))})`,
  ].join("");
}

const quoted = (text: string): string => text.replace(/^/gm, "> ");
