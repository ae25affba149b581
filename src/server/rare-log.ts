// What can happen a thousand times a second is one line of the log a second, with the number.
const quietMs = 1_000;

export interface RareLog {
  add(facts?: object): void;
  /** How often it ever happened. */
  total(): number;
}

export function createRareLog(write: (facts: object) => void): RareLog {
  let total = 0;
  let logged = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;
  return {
    total: () => total,
    add(facts) {
      total += 1;
      const now = performance.now();
      if (now - loggedAt < quietMs) return;
      write({ ...facts, times: total - logged });
      logged = total;
      loggedAt = now;
    },
  };
}
