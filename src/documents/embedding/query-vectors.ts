// The vectors of queries. A search does not wait long for one: without it passages are ranked by their words, and an endpoint that
// has failed is left alone for a while.
import { type EmbeddingsEndpoint, EmbeddingsError } from "./embeddings-endpoint.js";

const queryMs = 5_000;
const leftAloneMs = 15_000;

export class QueryVectors {
  readonly #endpoint: EmbeddingsEndpoint;
  readonly #onProblem: (problem: unknown) => void;
  #leftAloneUntilMs = 0;

  constructor(endpoint: EmbeddingsEndpoint, onProblem: (problem: unknown) => void) {
    this.#endpoint = endpoint;
    this.#onProblem = onProblem;
  }

  get model(): string {
    return this.#endpoint.model;
  }

  /** Undefined when there is none to be had. Rejects only with the signal's reason. */
  async of(query: string, signal: AbortSignal): Promise<Float32Array | undefined> {
    if (performance.now() < this.#leftAloneUntilMs) return undefined;
    try {
      const [vector] = await this.#endpoint.embed([query], { signal, timeoutMs: queryMs, tries: 1 });
      return vector;
    } catch (problem) {
      signal.throwIfAborted();
      // A query that it refuses says nothing of the next one.
      const isRefused = problem instanceof EmbeddingsError && problem.kind === "refused";
      if (!isRefused) this.#leftAloneUntilMs = performance.now() + leftAloneMs;
      this.#onProblem(problem);
      return undefined;
    }
  }
}
