// The index of what is in the store: built when it is prepared or first needed, and told of every change from then on.
import { HeddleError } from "../../thread/errors.js";
import { Embedder, type LeafPlace } from "../embedding/embedder.js";
import { EmbeddingsEndpoint, type EmbeddingsSettings } from "../embedding/embeddings-endpoint.js";
import { QueryVectors } from "../embedding/query-vectors.js";
import { decodeBlock, type VectorBlock } from "../embedding/vector-block.js";
import type { DocumentEntry } from "../store/document-entry.js";
import type { DocumentStore, Place } from "../store/document-store.js";
import { isIntactLeaf } from "../store/passage-leaf.js";
import { IndexClient } from "./index-client.js";
import type { IndexAnswer } from "./index-messages.js";

export interface DocumentIndexOptions {
  /** Undefined: passages are ranked by their words alone. */
  readonly embeddings: EmbeddingsSettings | undefined;
  readonly onProblem?: (problem: unknown) => void;
  /** How long the embedder rests after its first failure. */
  readonly embeddingRestMs?: number | undefined;
}

/** A document that is about to be stored. */
export interface LeavesToPut extends Place {
  readonly documentNumber: number;
  readonly leaves: readonly Uint8Array[];
}

interface Stored {
  readonly entry: DocumentEntry;
  readonly replaced: number | undefined;
}

/** Hits beyond those asked for, in place of documents that go while they are looked up. */
const spareHits = 20;

export class DocumentIndex {
  readonly #store: DocumentStore;
  readonly #onProblem: (problem: unknown) => void;
  readonly #damaged = new Set<number>();
  readonly #queries: QueryVectors | undefined;
  readonly #embedder: Embedder | undefined;
  #client: IndexClient | undefined;
  /** Resolves when all that was in the store is in the index. */
  #built: Promise<IndexClient> | undefined;
  #isClosed = false;

  constructor(
    store: DocumentStore,
    { embeddings, onProblem = () => undefined, embeddingRestMs }: DocumentIndexOptions,
  ) {
    this.#store = store;
    this.#onProblem = onProblem;
    if (embeddings === undefined) return;
    const endpoint = new EmbeddingsEndpoint(embeddings);
    this.#queries = new QueryVectors(endpoint, onProblem);
    const onVectors = (place: LeafPlace, block: VectorBlock) => this.#addVectors(this.#client, place, block);
    this.#embedder = new Embedder(store, { endpoint, onVectors, onProblem, restMs: embeddingRestMs });
  }

  /** Builds it. What goes wrong is told to whoever searches, for whom it is tried again. */
  prepare(): void {
    this.#ready().catch(() => undefined);
  }

  /** Some of it could not be read: the same bytes must be stored again. */
  isDamaged(documentNumber: number): boolean {
    return this.#damaged.has(documentNumber);
  }

  /** Once for each document. */
  reportDamage(documentNumber: number, { collection, name }: Place): void {
    if (this.#damaged.has(documentNumber)) return;
    this.#damaged.add(documentNumber);
    const message = `Passages of ${name} in ${collection} fail their checksum and are not found: index the document again`;
    this.#onProblem(new HeddleError("storage_failed", message, { detail: { path: name } }));
  }

  /**
   * Stores a document with `store`, so that a search finds what was there before or what is there now, and never neither: the new
   * passages are in the index before they are in the store, and the old ones until after.
   */
  async putWith(leaves: LeavesToPut, store: () => Promise<Stored>): Promise<DocumentEntry> {
    const client = this.#alive();
    if (client !== undefined) await unlessGone(client, announce(client, leaves));
    const { entry, replaced } = await store().catch(async (reason) => {
      await this.removed(leaves.documentNumber);
      throw reason;
    });
    // Whoever builds it now may have looked before the document was there.
    const now = this.#alive();
    if (now !== undefined && now !== client) await unlessGone(now, this.#addTo(now, entry));
    if (replaced !== undefined) await this.removed(replaced);
    this.#embedder?.wake();
    return entry;
  }

  /** Contract: the store has it no more. */
  async removed(documentNumber: number): Promise<void> {
    this.#damaged.delete(documentNumber);
    const client = this.#alive();
    if (client !== undefined) await unlessGone(client, client.tell({ type: "remove", documentNumber }));
  }

  /** Resolves when every passage has its vector, or the embedder rests. */
  async embedded(): Promise<void> {
    await this.#embedder?.settled();
  }

  async search(
    { query, collection, limit }: { query: string; collection: string; limit: number },
    signal: AbortSignal,
  ): Promise<IndexAnswer> {
    const client = await until(signal, this.#ready());
    const vector = await this.#queries?.of(query, signal);
    const request = { type: "search", query, collection, limit, spare: spareHits, vector } as const;
    return until(signal, client.search(request));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#embedder?.close();
    await this.#client?.close();
  }

  /** Undefined where nobody has asked for it yet: it will be built from the store. */
  #alive(): IndexClient | undefined {
    return this.#client?.isAlive === true ? this.#client : undefined;
  }

  #ready(): Promise<IndexClient> {
    if (this.#isClosed) return Promise.reject(new HeddleError("shutting_down", "The documents are closed"));
    if (this.#alive() === undefined) {
      this.#client = new IndexClient();
      this.#built = this.#build(this.#client);
      // Whoever waits is told; a build that nobody waits for any more must not end the process.
      this.#built.catch(() => undefined);
    }
    return this.#built!;
  }

  /**
   * What changes meanwhile is told by whoever changed it. The index takes everything in the order in which it is told, and a leaf is
   * told as soon as it is read: what is told to be gone is not told of again.
   */
  async #build(client: IndexClient): Promise<IndexClient> {
    this.#damaged.clear();
    try {
      for (const entry of this.#store.intact(() => this.#onProblem(damagedEntry()))) await this.#addTo(client, entry);
    } catch (reason) {
      // The next one who asks tries again.
      await client.close();
      throw reason;
    }
    this.#embedder?.wake();
    return client;
  }

  async #addTo(client: IndexClient, { number, collection, name, leaves }: DocumentEntry): Promise<void> {
    for (let leaf = 0; leaf < leaves; leaf++) {
      const passages = this.#store.leaf(number, leaf);
      // Replaced or deleted meanwhile.
      if (passages === undefined) return;
      if (!isIntactLeaf(passages)) this.reportDamage(number, { collection, name });
      else {
        await client.tell({ type: "leaf", documentNumber: number, collection, name, leaf, passages });
        await this.#addStoredVectors(client, { documentNumber: number, leaf });
      }
    }
  }

  async #addStoredVectors(client: IndexClient, place: LeafPlace): Promise<void> {
    const stored = this.#queries && this.#store.vectors(place.documentNumber, place.leaf);
    if (stored !== undefined) await this.#addVectors(client, place, decodeBlock(stored));
  }

  /** Those of another model say nothing beside the query's. */
  async #addVectors(client: IndexClient | undefined, place: LeafPlace, block: VectorBlock): Promise<void> {
    if (client?.isAlive !== true || block.model !== this.#queries?.model) return;
    const { dimensions, vectors } = block;
    await client.tell({ type: "vectors", ...place, dimensions, vectors });
  }
}

async function announce(client: IndexClient, { collection, name, documentNumber, leaves }: LeavesToPut): Promise<void> {
  for (const [leaf, passages] of leaves.entries())
    await client.tell({ type: "leaf", documentNumber, collection, name, leaf, passages });
}

/** What an index does not hear because it is gone, the next one reads in the store. */
const unlessGone = (client: IndexClient, telling: Promise<void>): Promise<void> =>
  telling.catch((reason) => {
    if (client.isAlive) throw reason;
  });

const damagedEntry = (): HeddleError =>
  new HeddleError("storage_failed", "A document fails its checksum and is not found: index your documents again", {
    detail: { path: "documents" },
  });

/** The result, unless the caller leaves before. */
function until<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const leave = (): void => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}
