// Ranks passages by their words (BM25, minisearch). Headings and the document's name count more than the text; words that only
// begin like a word of the query, or differ in a letter or two, count less.
import MiniSearch from "minisearch";
import { queryTerms, termsOf } from "./terms.js";

export interface IndexedPassage {
  readonly id: number;
  readonly name: string;
  readonly heading: string;
  readonly text: string;
}

export interface Hit {
  readonly id: number;
  readonly score: number;
}

const boost = { name: 1.5, heading: 2, text: 1 } as const;
const weights = { prefix: 0.3, fuzzy: 0.2 } as const;
/** Shorter words begin too many others, or are a letter away from them. What holds a digit is meant as it stands. */
const prefixUnits = 4;
const fuzzyUnits = 5;
/** More than anybody is shown, also where one document has most of them. */
const mostHits = 5_000;
/** A longer query is a text of its own: its words are taken as they stand. */
const loosenedTerms = 12;

export class WordIndex {
  readonly #words = new MiniSearch<IndexedPassage>({
    fields: ["name", "heading", "text"],
    tokenize: termsOf,
    processTerm: (term) => term,
  });

  add(passage: IndexedPassage): void {
    this.#words.add(passage);
  }

  discard(id: number): void {
    if (this.#words.has(id)) this.#words.discard(id);
  }

  /** The best first, and those of the same score as they come. */
  search(query: string, isWanted: (id: number) => boolean): Hit[] {
    const terms = queryTerms(query);
    if (terms.length === 0) return [];
    // Passages that are gone leave their words behind; a search takes those away that it meets, and counts them while it does.
    if (this.#words.dirtCount > 0) this.#find(terms, isWanted);
    return this.#find(terms, isWanted);
  }

  #find(terms: ReturnType<typeof queryTerms>, isWanted: (id: number) => boolean): Hit[] {
    const words = new Set(terms.filter(({ isWord }) => isWord).map(({ term }) => term));
    const isLoose = (term: string, units: number): boolean =>
      terms.length <= loosenedTerms && words.has(term) && term.length >= units && !/\d/.test(term);
    const found = this.#words.search(terms.map(({ term }) => term).join(" "), {
      tokenize: (text) => text.split(" "),
      boost: { ...boost },
      weights: { ...weights },
      prefix: (term) => isLoose(term, prefixUnits),
      fuzzy: (term) => isLoose(term, fuzzyUnits) && (term.length < 8 ? 1 : 2),
      filter: ({ id }) => isWanted(id as number),
    });
    return found.slice(0, mostHits).map(({ id, score }) => ({ id: id as number, score }));
  }
}
