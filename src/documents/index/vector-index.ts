// Ranks passages by their vectors: every one is compared with the query's. All are of length 1, so that the product is the cosine.
import type { Hit } from "./word-index.js";

/** How many are given. Further ones would change nothing in the mixture (fuse.ts). */
const mostHits = 200;

interface Block {
  readonly firstId: number;
  readonly dimensions: number;
  readonly vectors: Float32Array;
}

export class VectorIndex {
  readonly #blocks = new Map<number, Block>();

  /** In place of the block with the same first id. The vectors lie one behind the other. */
  add(block: Block): void {
    this.#blocks.set(block.firstId, block);
  }

  remove(firstId: number): void {
    this.#blocks.delete(firstId);
  }

  get size(): number {
    return this.#blocks.size;
  }

  /** The nearest first. Those that point away from the query are no hits; neither are those of another model's size. */
  search(query: Float32Array, isWanted: (id: number) => boolean): Hit[] {
    let hits: Hit[] = [];
    for (const { firstId, dimensions, vectors } of this.#blocks.values()) {
      if (dimensions !== query.length || !isWanted(firstId)) continue;
      for (let at = 0; at < vectors.length; at += dimensions) {
        const score = product(query, vectors, at);
        if (score > 0) hits.push({ id: firstId + at / dimensions, score });
      }
      if (hits.length > 16 * mostHits) hits = best(hits);
    }
    return best(hits);
  }
}

const best = (hits: Hit[]): Hit[] => hits.sort((a, b) => b.score - a.score || a.id - b.id).slice(0, mostHits);

function product(query: Float32Array, vectors: Float32Array, at: number): number {
  let sum = 0;
  for (let index = 0; index < query.length; index++) sum += query[index]! * vectors[at + index]!;
  return sum;
}
