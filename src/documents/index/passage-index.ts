// All passages of all documents, by their words and by their vectors.
import { decodeLeaf } from "../store/passage-leaf.js";
import { choose, fuse, ranked } from "./choose-hits.js";
import {
  documentOf,
  firstOfLeaf,
  type IndexAnswer,
  type IndexRequest,
  type LeafToIndex,
  passageId,
  placeOf,
  type SearchIndex,
  type VectorsToIndex,
} from "./index-messages.js";
import { VectorIndex } from "./vector-index.js";
import { type Hit, WordIndex } from "./word-index.js";

interface IndexedDocument {
  readonly collection: string;
  readonly name: string;
  /** Leaves that are indexed, and how many passages each has. */
  readonly leaves: Map<number, number>;
}

export class PassageIndex {
  readonly #documents = new Map<number, IndexedDocument>();
  readonly #words = new WordIndex();
  readonly #vectors = new VectorIndex();

  handle(request: IndexRequest): IndexAnswer | undefined {
    switch (request.type) {
      case "leaf":
        this.#addLeaf(request);
        return undefined;
      case "vectors":
        this.#addVectors(request);
        return undefined;
      case "remove":
        this.#remove(request.documentNumber);
        return undefined;
      case "search":
        return this.#search(request);
    }
  }

  /** What was told while the index was built may be told once more. */
  #addLeaf({ documentNumber, collection, name, leaf, passages: stored }: LeafToIndex): void {
    const document = this.#documents.get(documentNumber) ?? { collection, name, leaves: new Map() };
    const passages = decodeLeaf(stored);
    if (document.leaves.has(leaf) || passages === undefined) return;
    this.#documents.set(documentNumber, document);
    document.leaves.set(leaf, passages.length);
    const firstId = firstOfLeaf(documentNumber, leaf);
    passages.forEach(({ headings, text }, index) => {
      this.#words.add({ id: firstId + index, name, heading: headings.join("\n"), text });
    });
  }

  /** Those of a document that is gone come too late. */
  #addVectors({ documentNumber, leaf, dimensions, vectors }: VectorsToIndex): void {
    if (!this.#documents.get(documentNumber)?.leaves.has(leaf)) return;
    this.#vectors.add({ firstId: firstOfLeaf(documentNumber, leaf), dimensions, vectors });
  }

  #remove(documentNumber: number): void {
    for (const [leaf, passages] of this.#documents.get(documentNumber)?.leaves ?? []) {
      const firstId = firstOfLeaf(documentNumber, leaf);
      this.#vectors.remove(firstId);
      for (let index = 0; index < passages; index++) this.#words.discard(firstId + index);
    }
    this.#documents.delete(documentNumber);
  }

  #search({ query, collection, limit, spare, vector }: SearchIndex): IndexAnswer {
    const isWanted = (id: number): boolean =>
      collection === "" || this.#documents.get(documentOf(id))?.collection === collection;
    const byWords = ranked(this.#words.search(query, isWanted), this.#compare);
    const isHybrid = vector !== undefined && this.#vectors.size > 0;
    const ranking = isHybrid
      ? ranked(fuse([byWords, ranked(this.#vectors.search(vector, isWanted), this.#compare)]), this.#compare)
      : byWords;
    return {
      hits: choose(ranking, { limit, spare, documentOf }).map((hit) => this.#located(hit)),
      ranking: isHybrid ? "hybrid" : "text",
    };
  }

  /** In order of collection, name and place. */
  readonly #compare = (a: number, b: number): number => {
    const left = this.#documents.get(documentOf(a))!;
    const right = this.#documents.get(documentOf(b))!;
    return order(left.collection, right.collection) || order(left.name, right.name) || placeOf(a) - placeOf(b) || a - b;
  };

  #located({ id, score }: Hit) {
    const documentNumber = documentOf(id);
    const { collection, name } = this.#documents.get(documentNumber)!;
    return { collection, name, documentNumber, place: id - passageId(documentNumber, 0), score };
  }
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
