// The documents that file_search looks into. Tools are made before the data directory is open: until it is, there are none.
import type { DocumentAnswer, DocumentQuery, DocumentSearch } from "./document-search.js";

export class SearchedDocuments implements DocumentSearch {
  #documents: DocumentSearch | undefined;

  searchIn(documents: DocumentSearch): void {
    this.#documents = documents;
  }

  async count(collection?: string): Promise<number> {
    return this.#documents?.count(collection) ?? 0;
  }

  async search(query: DocumentQuery): Promise<DocumentAnswer> {
    return this.#documents?.search(query) ?? { passages: [], ranking: "text" };
  }
}
