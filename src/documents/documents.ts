// The documents that agents search: kept on disk (store/), cut into passages (reading/), and found by an index in memory (index/)
// that is built from the store before it is needed, or when it first is.
import { setMaxListeners } from "node:events";
import { HeddleError } from "../thread/errors.js";
import type { DocumentAnswer, DocumentQuery, DocumentSearch, FoundPassage } from "../tool/documents/document-search.js";
import {
  type CheckedUpload,
  checkCollection,
  checkName,
  checkQuery,
  checkUpload,
  type Upload,
} from "./check-upload.js";
import { documentLimits } from "./document-limits.js";
import { either } from "./either-signal.js";
import { DocumentIndex } from "./index/document-index.js";
import type { IndexHit } from "./index/index-messages.js";
import { readDocument, readerVersion } from "./reading/read-document.js";
import { Sequences } from "./sequences.js";
import type { DocumentEntry } from "./store/document-entry.js";
import { DocumentStore, type Place } from "./store/document-store.js";
import { decodeLeaf, passagesPerLeaf } from "./store/passage-leaf.js";

export interface DocumentsSettings {
  /** Where they are kept. Made unless it is there. Contract: no other process has it open. */
  readonly dir: string;
  /** Undefined: passages are ranked by their words alone. */
  readonly embeddings: { readonly url: string; readonly model: string; readonly key: string | undefined } | undefined;
  /** Takes secrets out of a text: a name that holds one is refused. */
  readonly redact?: (text: string) => string;
  /** Told of what goes wrong where nobody waits: a damaged value, an embeddings endpoint that does not answer. */
  readonly onProblem?: (problem: unknown) => void;
  /** How long to wait with embeddings after the endpoint has failed for the first time. Default: 2 s. */
  readonly embeddingRestMs?: number;
}

export interface StoredDocument {
  readonly collection: string;
  readonly name: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  /** Empty in a list, where some of its passages are damaged. */
  readonly sha256: Uint8Array;
  readonly passages: number;
  readonly updateTimeMs: number;
}

export class Documents implements DocumentSearch {
  readonly #store: DocumentStore;
  readonly #index: DocumentIndex;
  readonly #settings: DocumentsSettings;
  /** Puts and deletes of one name happen in the order in which they were asked for. */
  readonly #changes = new Sequences();
  readonly #closing = new AbortController();

  private constructor(settings: DocumentsSettings) {
    setMaxListeners(0, this.#closing.signal); // Each that is being stored listens.
    this.#settings = settings;
    this.#store = new DocumentStore(settings.dir);
    this.#index = new DocumentIndex(this.#store, settings);
  }

  /** Rejects with a HeddleError that names the directory and says what to do. */
  static async open(settings: DocumentsSettings): Promise<Documents> {
    return new Documents(settings);
  }

  /** Builds the index in the background, so that the first search need not wait for it. */
  prepare(): void {
    if (this.#store.count("") > 0) this.#index.prepare();
  }

  /** Resolves when the document is on disk and can be found. The same bytes as before need no work. */
  async put(
    upload: Upload,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<{ document: StoredDocument; unchanged: boolean }> {
    const checked = checkUpload(upload, this.#settings.redact ?? ((text) => text));
    return this.#changes.run(nameOf(checked), () =>
      either(signal, this.#closing.signal, (left) => this.#put(checked, left)),
    );
  }

  async #put(checked: CheckedUpload, signal: AbortSignal): Promise<{ document: StoredDocument; unchanged: boolean }> {
    const { collection, name, mediaType, data } = checked;
    const sha256 = Buffer.from(await crypto.subtle.digest("SHA-256", data as Uint8Array<ArrayBuffer>)).toString("hex");
    const before = this.#store.getUnlessDamaged(checked);
    if (before && isSame(before, { sha256, mediaType }) && !this.#index.isDamaged(before.number))
      return { document: storedDocument(before), unchanged: true };
    const read = await readDocument(checked, signal);
    signal.throwIfAborted();
    const updateTimeMs = Date.now();
    const facts = { collection, name, mediaType, sizeBytes: data.length, sha256, reader: readerVersion, updateTimeMs };
    const document = { ...facts, ...read, number: this.#store.nextNumber() };
    const entry = await this.#index.putWith({ ...document, documentNumber: document.number }, () =>
      this.#store.put(document),
    );
    return { document: storedDocument(entry), unchanged: false };
  }

  /** In order of collection and name. An empty collection: all of them. */
  async list(page: { collection: string; limit: number; after: Place | undefined }): Promise<StoredDocument[]> {
    if (page.collection !== "") checkCollection(page.collection);
    return this.#store.list(page).map((entry) => this.#listed(entry));
  }

  /** Whoever compares hashes, as `heddle index` does, sends the bytes of a damaged one again, and heals it. */
  #listed(entry: DocumentEntry): StoredDocument {
    const document = storedDocument(entry);
    return this.#index.isDamaged(entry.number) ? { ...document, sha256: new Uint8Array() } : document;
  }

  async get(collection: string, name: string): Promise<StoredDocument | undefined> {
    const entry = this.#store.get({ collection: checkCollection(collection), name: checkName(name) });
    return entry && storedDocument(entry);
  }

  /** Resolves with whether it was there, when it is gone from disk and cannot be found any more. */
  async delete(collection: string, name: string): Promise<boolean> {
    const place = { collection: checkCollection(collection), name: checkName(name) };
    return this.#changes.run(nameOf(place), async () => {
      const removed = await this.#store.delete(place);
      if (removed !== undefined) await this.#index.removed(removed.number);
      return removed !== undefined;
    });
  }

  async count(collection = ""): Promise<number> {
    return this.#store.count(collection === "" ? "" : checkCollection(collection));
  }

  async search({ query, collection = "", limit, signal }: DocumentQuery): Promise<DocumentAnswer> {
    checkQuery(query);
    if (collection !== "") checkCollection(collection);
    const wanted = Math.max(1, Math.min(limit, documentLimits.found));
    const { hits, ranking } = await this.#index.search({ query, collection, limit: wanted }, signal);
    const passages = hits.flatMap((hit) => this.#found(hit) ?? []).slice(0, wanted);
    return { passages: passages.sort((a, b) => b.score - a.score), ranking };
  }

  /** Resolves when every passage has its vector, or the endpoint has failed and is left alone for a while. */
  embedded(): Promise<void> {
    return this.#index.embedded();
  }

  /** What is under way is called off, unless it is being written. */
  async close(): Promise<void> {
    this.#closing.abort(new HeddleError("shutting_down", "The documents are closed"));
    await this.#index.close();
    await this.#changes.settled();
    await this.#store.close();
  }

  /** Undefined: the document was replaced or deleted since, or is damaged. */
  #found({ collection, name, documentNumber, place, score }: IndexHit): FoundPassage | undefined {
    const leaf = this.#store.leaf(documentNumber, Math.floor(place / passagesPerLeaf));
    const passages = leaf && decodeLeaf(leaf);
    if (leaf && !passages) this.#index.reportDamage(documentNumber, { collection, name });
    const passage = passages?.[place % passagesPerLeaf];
    return passage && { collection, documentName: name, ...passage, score };
  }
}

const nameOf = ({ collection, name }: Place): string => `${collection}\0${name}`;

const isSame = (entry: DocumentEntry, { sha256, mediaType }: Pick<DocumentEntry, "sha256" | "mediaType">): boolean =>
  entry.sha256 === sha256 && entry.mediaType === mediaType && entry.reader === readerVersion;

const storedDocument = (entry: DocumentEntry): StoredDocument => ({
  collection: entry.collection,
  name: entry.name,
  mediaType: entry.mediaType,
  sizeBytes: entry.sizeBytes,
  sha256: Buffer.from(entry.sha256, "hex"),
  passages: entry.passages,
  updateTimeMs: entry.updateTimeMs,
});
