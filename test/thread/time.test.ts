import { create } from "@bufbuild/protobuf";
import { DurationSchema, timestampFromMs as fromMs, TimestampSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { expect, test } from "vitest";
import { durationBetween, durationFromMs, isSpan, timestampFromMs } from "../../src/thread/time.js";

const seconds = { min: -62_135_596_800n, max: 253_402_300_799n };
const time = fc.record({ seconds: fc.bigInt(seconds), nanos: fc.integer({ min: 0, max: 999_999_999 }) });

test("times are what protobuf's own function makes of milliseconds", () => {
  fc.assert(
    fc.property(fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 }), (ms) => {
      expect(timestampFromMs(ms)).toEqual(fromMs(ms));
    }),
  );
});

test("a span between two times is exact, never negative, and never too long to be shown", () => {
  const nanos = (at: { seconds: bigint; nanos: number }): bigint => at.seconds * 1_000_000_000n + BigInt(at.nanos);
  fc.assert(
    fc.property(time, time, (from, to) => {
      const [start, end] = [create(TimestampSchema, from), create(TimestampSchema, to)];
      const between = nanos(to) - nanos(from);
      const length = between < 0n ? 0n : between;
      const span = durationBetween(start, end)!;
      expect(span.$typeName).toBe(DurationSchema.typeName);
      expect(nanos(span)).toBe(length > 315_576_000_000_000_000_000n ? 315_576_000_000_000_000_000n : length);
      expect(isSpan(span)).toBe(true);
    }),
    {
      examples: [
        [
          { seconds: 5n, nanos: 1 },
          { seconds: 5n, nanos: 0 },
        ],
        [
          { seconds: 5n, nanos: 9 },
          { seconds: 6n, nanos: 3 },
        ],
        [
          { seconds: seconds.min, nanos: 0 },
          { seconds: seconds.max, nanos: 999_999_999 },
        ],
      ],
    },
  );
});

test("a span that has no beginning or no end is not known", () => {
  expect(durationBetween(undefined, timestampFromMs(0))).toBeUndefined();
  expect(durationBetween(timestampFromMs(0), undefined)).toBeUndefined();
});

test("milliseconds become a span", () => {
  expect(durationFromMs(1_234.4)).toEqual(create(DurationSchema, { seconds: 1n, nanos: 234_000_000 }));
});
