// How passages lie in the store: a leaf is a value with up to 32 consecutive passages of one document, behind a checksum. Made
// where the document is read, so that the thread of the server has nothing to encode.
import { seal, unseal } from "../../log/checksum.js";
import type { Passage } from "../passage.js";

export const passagesPerLeaf = 32;

type Stored = readonly [firstLine: number, lastLine: number, page: number, headings: readonly string[], text: string];

export function encodeLeaves(passages: readonly Passage[]): Buffer[] {
  const leaves: Buffer[] = [];
  for (let from = 0; from < passages.length; from += passagesPerLeaf)
    leaves.push(encodeLeaf(passages.slice(from, from + passagesPerLeaf)));
  return leaves;
}

function encodeLeaf(passages: readonly Passage[]): Buffer {
  const stored = passages.map(
    ({ firstLine, lastLine, page, headings, text }): Stored => [firstLine, lastLine, page ?? 0, headings, text],
  );
  return seal(Buffer.from(JSON.stringify(stored)));
}

export const isIntactLeaf = (leaf: Uint8Array): boolean => payloadOf(leaf) !== undefined;

/** Undefined when it is damaged. */
export function decodeLeaf(leaf: Uint8Array): Passage[] | undefined {
  const payload = payloadOf(leaf);
  if (payload === undefined) return undefined;
  const stored = JSON.parse(payload.toString("utf8")) as Stored[];
  return stored.map(([firstLine, lastLine, page, headings, text]) => ({
    firstLine,
    lastLine,
    page: page === 0 ? undefined : page,
    headings,
    text,
  }));
}

const payloadOf = (leaf: Uint8Array): Buffer | undefined =>
  unseal(Buffer.from(leaf.buffer, leaf.byteOffset, leaf.length));
