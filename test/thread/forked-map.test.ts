import fc from "fast-check";
import { expect, test } from "vitest";
import { ForkedMap } from "../../src/thread/forked-map.js";

type Change = { do: "set" | "delete"; key: number } | { do: "clear" } | { do: "fork" } | { do: "back" };

const changes: fc.Arbitrary<Change[]> = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.record({ do: fc.constant("set" as const), key: fc.nat(20) }) },
    { weight: 6, arbitrary: fc.record({ do: fc.constant("delete" as const), key: fc.nat(20) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("clear" as const) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("fork" as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("back" as const) }) },
  ),
  { maxLength: 120 },
);

/** All that can be seen of it. */
const seen = (map: Map<number, number> | ForkedMap<number, number>) => ({
  size: map.size,
  keys: [...map.keys()],
  values: [...map.values()],
  gets: Array.from({ length: 21 }, (_, key) => [map.has(key), map.get(key)]),
});

test("is what a Map is, with few entries and with many, and no fork sees what another changes", () => {
  fc.assert(
    fc.property(changes, (steps) => {
      let value = 0;
      const forks = [{ forked: new ForkedMap<number, number>(), plain: new Map<number, number>() }];
      let at = 0;
      for (const step of steps) {
        const { forked, plain } = forks[at]!;
        if (step.do === "fork") at = forks.push({ forked: forked.fork(), plain: new Map(plain) }) - 1;
        else if (step.do === "back") at = Math.max(0, at - 1);
        else if (step.do === "clear") for (const map of [forked, plain]) map.clear();
        else if (step.do === "set") for (const map of [forked, plain]) map.set(step.key, value);
        else for (const map of [forked, plain]) map.delete(step.key);
        value++;
        for (const one of forks) expect(seen(one.forked)).toEqual(seen(one.plain));
      }
    }),
    { numRuns: 200 },
  );
});
