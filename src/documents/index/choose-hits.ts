// From rankings to what is shown: two rankings become one (reciprocal rank fusion), and no document crowds out the others.
import type { Hit } from "./word-index.js";

/** Which of two passages with the same score comes first, whatever order they were indexed in. */
export type Compare = (a: number, b: number) => number;

/** As in the paper (Cormack, Clarke and Büttcher, 2009): how little a rank among the first counts more than the next. */
const smoothing = 60;

/** Of one document, as long as there are passages of others. */
const perDocument = 3;

/** The best first. Scores that differ by no more than the order in which they were added up count as the same. */
export const ranked = (hits: readonly Hit[], compare: Compare): Hit[] =>
  hits
    .map(({ id, score }) => ({ id, score: Math.round(score * 1e9) / 1e9 }))
    .sort((a, b) => b.score - a.score || compare(a.id, b.id));

/** Contract: the rankings are `ranked`. */
export function fuse(rankings: readonly (readonly Hit[])[]): Hit[] {
  const scores = new Map<number, number>();
  for (const ranking of rankings)
    ranking.forEach(({ id }, rank) => {
      scores.set(id, (scores.get(id) ?? 0) + 1 / (smoothing + rank + 1));
    });
  return [...scores].map(([id, score]) => ({ id, score }));
}

/**
 * The first of a ranking, and at most a few of one document unless nothing else is left; behind them, those that come next, in place
 * of what is gone when it is looked up.
 */
export function choose(ranking: readonly Hit[], { limit, spare, documentOf }: Choice): Hit[] {
  const taken = new Map<number, number>();
  const isAmongFirst = ({ id }: Hit): boolean => {
    const count = (taken.get(documentOf(id)) ?? 0) + 1;
    taken.set(documentOf(id), count);
    return count <= perDocument;
  };
  const first = new Set(ranking.filter(isAmongFirst).slice(0, limit));
  const others = ranking.filter((hit) => !first.has(hit));
  const filling = new Set(others.slice(0, limit - first.size));
  const chosen = ranking.filter((hit) => first.has(hit) || filling.has(hit));
  return [...chosen, ...others.slice(filling.size, filling.size + spare)];
}

export interface Choice {
  readonly limit: number;
  readonly spare: number;
  readonly documentOf: (id: number) => number;
}
