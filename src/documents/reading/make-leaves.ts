// From text to passages as the store keeps them. A module for threads (offload.ts), and called as it is where the text is small.
import { ToolFailure } from "../../tool/tool.js";
import { documentLimits } from "../document-limits.js";
import type { Passage } from "../passage.js";
import { encodeLeaves } from "../store/passage-leaf.js";
import { cutPassages } from "./cut-passages.js";
import { type DocumentText, linesOf } from "./document-text.js";

/** Either the text or its pages' lines. */
export interface Text {
  readonly text?: string;
  readonly pages?: readonly (readonly string[])[];
  readonly hasHeadings: boolean;
}

export interface MadeLeaves {
  readonly passages: number;
  readonly leaves: readonly Uint8Array[];
}

/** Throws a ToolFailure (PASSAGES) when there are too many. */
export function makeLeaves(text: Text): MadeLeaves {
  const passages = cutOf(documentOf(text));
  return { passages: passages.length, leaves: encodeLeaves(passages) };
}

export default makeLeaves;

function cutOf(document: DocumentText): Passage[] {
  try {
    return cutPassages(document, documentLimits.passages);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new ToolFailure(cause.message, { code: "PASSAGES", cause });
  }
}

function documentOf({ text, pages, hasHeadings }: Text): DocumentText {
  if (pages === undefined) return { lines: linesOf(text ?? ""), pageStarts: [], hasHeadings };
  const pageStarts: number[] = [];
  const lines: string[] = [];
  for (const page of pages) {
    pageStarts.push(lines.length);
    // At least one line a page, so that no two pages begin at the same.
    for (const line of page.length === 0 ? [""] : page) lines.push(line);
  }
  return { lines, pageStarts, hasHeadings };
}
