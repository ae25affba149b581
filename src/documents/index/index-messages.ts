// What the index's thread is asked, and what it answers. Passages are known by a number that holds the document's and their own
// place in it.
import { passagesPerLeaf } from "../store/passage-leaf.js";

/** More than documentLimits.passages. */
const passagesPerDocument = 2 ** 17;

export const passageId = (documentNumber: number, place: number): number =>
  documentNumber * passagesPerDocument + place;
export const documentOf = (id: number): number => Math.floor(id / passagesPerDocument);
export const placeOf = (id: number): number => id % passagesPerDocument;
export const firstOfLeaf = (documentNumber: number, leaf: number): number =>
  passageId(documentNumber, leaf * passagesPerLeaf);

export interface LeafToIndex {
  readonly type: "leaf";
  readonly documentNumber: number;
  readonly collection: string;
  readonly name: string;
  readonly leaf: number;
  /** As stored. */
  readonly passages: Uint8Array;
}

export interface VectorsToIndex {
  readonly type: "vectors";
  readonly documentNumber: number;
  readonly leaf: number;
  readonly dimensions: number;
  /** Of length 1 each, one behind the other. */
  readonly vectors: Float32Array;
}

export interface SearchIndex {
  readonly type: "search";
  readonly query: string;
  /** Empty: all. */
  readonly collection: string;
  readonly limit: number;
  /** So many more, in place of those that are gone when they are looked up. */
  readonly spare: number;
  readonly vector: Float32Array | undefined;
}

export type IndexRequest =
  | LeafToIndex
  | VectorsToIndex
  | { readonly type: "remove"; readonly documentNumber: number }
  | SearchIndex;

export interface IndexHit {
  readonly collection: string;
  readonly name: string;
  readonly documentNumber: number;
  /** Which passage of the document, from 0. */
  readonly place: number;
  readonly score: number;
}

export interface IndexAnswer {
  readonly hits: readonly IndexHit[];
  readonly ranking: "text" | "hybrid";
}

export type ToThread = { readonly id: number; readonly request: IndexRequest };
export type FromThread =
  | { readonly id: number; readonly answer: IndexAnswer | undefined }
  | { readonly id: number; readonly problem: string };
