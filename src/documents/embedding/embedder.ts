// Gives passages their vectors, behind everybody's back: a document can be found by its words at once, and by its meaning as soon
// as the endpoint has answered. What has no vectors of the model is found in the store, so that nothing is forgotten when the
// endpoint is away, the server stops, or another model is chosen.
import { setImmediate as letOthersWork } from "node:timers/promises";
import type { DocumentEntry } from "../store/document-entry.js";
import type { DocumentStore } from "../store/document-store.js";
import { type EmbeddingsEndpoint, EmbeddingsError } from "./embeddings-endpoint.js";
import { encodeBlock, modelOf, type VectorBlock } from "./vector-block.js";

export interface EmbedderOptions {
  readonly endpoint: EmbeddingsEndpoint;
  /** Called when a leaf has its vectors, on disk. */
  readonly onVectors: (leaf: LeafPlace, block: VectorBlock) => Promise<void>;
  readonly onProblem: (problem: unknown) => void;
  /** How long it rests after the first failure. */
  readonly restMs?: number | undefined;
}

export interface LeafPlace {
  readonly documentNumber: number;
  readonly leaf: number;
}

interface Pending extends LeafPlace {
  readonly entry: DocumentEntry;
  readonly texts: readonly string[];
}

/** Texts of one request: at least so many, where there are. */
const batchTexts = 64;
const requestMs = 60_000;
const tries = 3;
/** How long it rests after a failure: longer each time, up to the last; at once where waiting does not help. */
const restMs = { first: 2_000, last: 300_000 } as const;
/** So many batches that are refused one after the other are taken for a setting that is wrong. */
const mostRefused = 8;
/** Leaves and documents that are looked at in one go. */
const looksAtOnce = 32;

export class Embedder {
  readonly #store: DocumentStore;
  readonly #options: EmbedderOptions;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  /** There is something that the one at work may have passed already. */
  #isWanted = false;
  #restTimer: NodeJS.Timeout | undefined;
  #failures = 0;
  /** Leaves of which the endpoint refused every text. They are not tried again before the next start. */
  readonly #refused = new Set<string>();
  #refusedInARow = 0;
  /** Documents that need no second look, by their numbers: those of which every leaf had its vectors. */
  #complete: ReadonlySet<number> = new Set();
  #looks = 0;

  constructor(store: DocumentStore, options: EmbedderOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** There may be passages without vectors. A rest is not cut short: the next look finds them. */
  wake(): void {
    if (this.#closing.signal.aborted || this.#restTimer !== undefined) return;
    this.#isWanted = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // Wanted between its last look and now.
      if (this.#isWanted) this.wake();
    });
  }

  /** Resolves when all passages have their vectors, or it rests after a failure. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#restTimer);
    await this.settled();
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    try {
      while (this.#isWanted) {
        this.#isWanted = false;
        await this.#embedAll();
      }
      this.#failures = 0;
    } catch (problem) {
      if (this.#closing.signal.aborted) return;
      this.#options.onProblem(problem);
      this.#rest(problem);
    }
  }

  #rest(problem: unknown): void {
    const first = this.#options.restMs ?? restMs.first;
    const wanted = isTemporary(problem) ? Math.min(first * 2 ** this.#failures++, restMs.last) : restMs.last;
    const asked = problem instanceof EmbeddingsError ? (problem.retryAfterMs ?? 0) : 0;
    const wake = (): void => {
      this.#restTimer = undefined;
      this.wake();
    };
    this.#restTimer = setTimeout(wake, Math.max(wanted, Math.min(asked, 12 * restMs.last)));
    this.#restTimer.unref();
  }

  async #embedAll(): Promise<void> {
    let batch: Pending[] = [];
    for await (const pending of this.#withoutVectors()) {
      batch.push(pending);
      if (batch.reduce((sum, { texts }) => sum + texts.length, 0) < batchTexts) continue;
      await this.#embed(batch);
      batch = [];
    }
    if (batch.length > 0) await this.#embed(batch);
  }

  async *#withoutVectors(): AsyncGenerator<Pending> {
    const complete = new Set<number>();
    for (const entry of this.#store.intact()) {
      await this.#pause();
      if (this.#complete.has(entry.number) || (yield* this.#leavesWithout(entry)) === 0) complete.add(entry.number);
    }
    this.#complete = complete;
  }

  /** Returns how many there were. */
  async *#leavesWithout(entry: DocumentEntry): AsyncGenerator<Pending, number> {
    let count = 0;
    for (let leaf = 0; leaf < entry.leaves; leaf++) {
      await this.#pause();
      if (this.#isDone(entry.number, leaf)) continue;
      count++;
      // Passages that are damaged are the index's to report.
      const passages = this.#store.passagesUnlessDamaged(entry.number, leaf);
      if (passages === undefined) break;
      const texts = passages.map(({ headings, text }) => [...headings, text].join("\n"));
      yield { entry, documentNumber: entry.number, leaf, texts };
    }
    return count;
  }

  /** The store is read in the thread of the server: others have their turn between looks. */
  async #pause(): Promise<void> {
    if (++this.#looks % looksAtOnce === 0) await letOthersWork();
    this.#closing.signal.throwIfAborted();
  }

  #isDone(documentNumber: number, leaf: number): boolean {
    if (this.#refused.has(keyOf(documentNumber, leaf))) return true;
    const block = this.#store.vectors(documentNumber, leaf);
    return block !== undefined && modelOf(block) === this.#options.endpoint.model;
  }

  async #embed(batch: readonly Pending[]): Promise<void> {
    const vectors = await this.#vectorsOf(batch.flatMap(({ texts }) => texts)).catch((reason) =>
      this.#leaveOut(batch, reason),
    );
    const dimensions = vectors?.[0]?.length;
    if (vectors === undefined || dimensions === undefined) return;
    this.#refusedInARow = 0;
    let from = 0;
    for (const { entry, leaf, texts } of batch) {
      const own = vectors.slice(from, from + texts.length);
      from += texts.length;
      const block = { model: this.#options.endpoint.model, dimensions, vectors: joined(own, dimensions) };
      if (!(await this.#store.putVectors(entry, leaf, encodeBlock(block)))) continue;
      await this.#options.onVectors({ documentNumber: entry.number, leaf }, block);
    }
  }

  /** Rather than to stay with them for ever. Where all are refused, it is not about the texts. */
  #leaveOut(batch: readonly Pending[], reason: unknown): undefined {
    if (!isRefused(reason)) throw reason;
    for (const { documentNumber, leaf } of batch) this.#refused.add(keyOf(documentNumber, leaf));
    if (++this.#refusedInARow >= mostRefused) throw reason;
  }

  /** Where the endpoint refuses texts, each is tried alone: one that is too long for the model must not keep the others from it. */
  async #vectorsOf(texts: readonly string[]): Promise<Float32Array[]> {
    const { endpoint } = this.#options;
    const options = { signal: this.#closing.signal, timeoutMs: requestMs, tries };
    try {
      return await endpoint.embed(texts, options);
    } catch (refused) {
      if (!isRefused(refused) || texts.length === 1) throw refused;
      const alone: (Float32Array | undefined)[] = [];
      for (const text of texts) alone.push((await endpoint.embed([text], options).catch(undefinedIfRefused))?.[0]);
      const known = alone.find((vector) => vector !== undefined);
      if (known === undefined) throw refused;
      return alone.map((vector) => vector ?? new Float32Array(known.length));
    }
  }
}

const keyOf = (documentNumber: number, leaf: number): string => `${documentNumber}/${leaf}`;

/** What is nobody's fault, such as a full disk, may be better soon as well. */
const isTemporary = (problem: unknown): boolean =>
  !(problem instanceof EmbeddingsError) || problem.kind === "temporary";
const isRefused = (reason: unknown): boolean => reason instanceof EmbeddingsError && reason.kind === "refused";

function undefinedIfRefused(reason: unknown): undefined {
  if (!isRefused(reason)) throw reason;
}

function joined(vectors: readonly Float32Array[], dimensions: number): Float32Array {
  const all = new Float32Array(vectors.length * dimensions);
  vectors.forEach((vector, index) => {
    all.set(vector, index * dimensions);
  });
  return all;
}
