import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { Coalescer, type CoalescerOptions, coalescing, type Delta, type Piece } from "../../src/recorder/coalesce.js";
import { limits } from "../../src/thread/limits.js";
import { utf8Bytes } from "../../src/thread/text.js";

const windowMs = 30;

/** A coalescer whose time is moved by hand, and what came out of it. */
function setUp(options: Partial<CoalescerOptions<string>> = {}) {
  const clock = new ManualClock();
  const emits: { subject: string; deltas: readonly Delta<string>[]; atMs: number }[] = [];
  const coalescer = new Coalescer<string>({
    windowMs,
    schedule: clock.schedule,
    emit: (subject, deltas) => emits.push({ subject, deltas, atMs: clock.nowMs }),
    ...options,
  });
  return {
    clock,
    coalescer,
    emits,
    push: (subject: string, lane: string, text: string) => coalescer.push(pieceOf(subject, lane, text)),
    /** Each emit as `lane:text|lane:text`. */
    told: () => emits.map(({ deltas }) => deltas.map(({ lane, text }) => `${lane}:${text}`).join("|")),
  };
}

const asides: readonly string[] = ["input", "echo"];

const pieceOf = (subject: string, lane: string, text: string): Piece<string> => ({
  subject,
  lane,
  isAside: asides.includes(lane),
  text,
  origin: `of ${lane}`,
});

class ManualClock {
  nowMs = 0;
  readonly #due = new Map<() => void, number>();

  readonly schedule = (ms: number, run: () => void): (() => void) => {
    this.#due.set(run, this.nowMs + ms);
    return () => this.#due.delete(run);
  };

  get waiting(): number {
    return this.#due.size;
  }

  advance(ms: number): void {
    const end = this.nowMs + ms;
    for (;;) {
      const next = [...this.#due].filter(([, at]) => at <= end).sort(([, a], [, b]) => a - b)[0];
      if (!next) break;
      this.#due.delete(next[0]);
      this.nowMs = next[1];
      next[0]();
    }
    this.nowMs = end;
  }
}

describe("the window", () => {
  test("the first piece goes at once; what follows is joined until the window ends", () => {
    const { push, clock, told, emits } = setUp();
    push("call", "out", "a");
    expect(told()).toEqual(["out:a"]);
    push("call", "out", "b");
    clock.advance(windowMs - 1);
    push("call", "out", "c");
    expect(told()).toEqual(["out:a"]);
    clock.advance(1);
    expect(told()).toEqual(["out:a", "out:bc"]);
    expect(emits[1]!.atMs).toBe(windowMs);
  });

  test("a window follows a window as long as something waits; then the lane is quiet again", () => {
    const { push, clock, told } = setUp();
    push("call", "out", "a");
    push("call", "out", "b");
    clock.advance(windowMs);
    push("call", "out", "c");
    expect(told()).toEqual(["out:a", "out:b"]);
    clock.advance(windowMs);
    clock.advance(windowMs);
    expect(clock.waiting).toBe(0);
    push("call", "out", "d");
    expect(told()).toEqual(["out:a", "out:b", "out:c", "out:d"]);
  });

  test("another lane's first piece goes at once, behind what waits", () => {
    const { push, clock, told } = setUp();
    push("call", "out", "a");
    push("call", "out", "b");
    push("call", "err", "x");
    expect(told()).toEqual(["out:a", "out:b|err:x"]);
    push("call", "err", "y");
    push("call", "out", "c");
    push("call", "out", "d");
    push("call", "err", "z");
    clock.advance(windowMs);
    expect(told()).toEqual(["out:a", "out:b|err:x", "err:y|out:cd|err:z"]);
  });

  test("subjects do not wait for each other", () => {
    const { push, clock, emits } = setUp();
    push("one", "out", "a");
    clock.advance(10);
    push("two", "out", "b");
    push("one", "out", "c");
    push("two", "out", "d");
    clock.advance(windowMs);
    expect(emits.map(({ subject, atMs, deltas }) => [subject, atMs, deltas[0]!.text])).toEqual([
      ["one", 0, "a"],
      ["two", 10, "b"],
      ["one", 30, "c"],
      ["two", 40, "d"],
    ]);
  });

  test("runs on real timers when it is given none", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const texts: string[] = [];
      const coalescer = new Coalescer({ emit: (_, deltas) => texts.push(...deltas.map(({ text }) => text)) });
      for (const text of ["a", "b", "c"]) coalescer.push({ subject: "call", lane: "out", text, origin: 0 });
      await turn();
      vi.advanceTimersByTime(coalescing.windowMs);
      expect(texts).toEqual(["a", "bc"]);
      coalescer.push({ subject: "call", lane: "out", text: "d", origin: 0 });
      coalescer.close();
      expect(texts).toEqual(["a", "bc", "d"]);
      await turn();
      expect(vi.getTimerCount()).toBe(0);
      expect(texts).toEqual(["a", "bc", "d"]);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("asides", () => {
  test("an aside and what it stands beside are joined each by itself, however they take turns", () => {
    const { push, clock, told } = setUp();
    for (const unit of "abcd") {
      push("call", "input", unit);
      push("call", "out", unit.toUpperCase());
    }
    expect(told()).toEqual(["input:a", "out:A"]);
    clock.advance(windowMs);
    expect(told()).toEqual(["input:a", "out:A", "input:bcd|out:BCD"]);
  });

  test("the lanes beside it keep their order, and two asides are joined apart", () => {
    const { push, coalescer, told } = setUp();
    for (const lane of ["input", "echo", "out", "err"]) push("call", lane, "-");
    for (const [unit, lane] of ["out", "input", "out", "echo", "err", "input", "out", "echo"].entries())
      push("call", lane, `${unit}`);
    coalescer.flush("call");
    expect(told().slice(4)).toEqual(["input:15|echo:37|out:02|err:4|out:6"]);
  });

  test("what was pushed to an aside goes before another lane's first piece", () => {
    const { push, told } = setUp();
    for (const text of ["a", "b"]) push("call", "input", text);
    push("call", "out", "B");
    expect(told()).toEqual(["input:a", "input:b|out:B"]);
  });

  test("count as what a subject holds", () => {
    const bytes = setUp({ maxBytes: 4 });
    for (const lane of ["input", "out", "input", "out"]) bytes.push("call", lane, "xx");
    expect(bytes.told()).toEqual(["input:xx", "out:xx", "input:xx|out:xx"]);
    const deltas = setUp({ maxDeltas: 3 });
    for (const lane of ["input", "out", "err", "input", "out", "out", "err"]) deltas.push("call", lane, "x");
    expect(deltas.told().slice(3)).toEqual(["input:x|out:xx|err:x"]);
  });

  test("a half of a surrogate pair that a flush gives out is joined to its aside", () => {
    const { push, coalescer, told } = setUp();
    for (const lane of ["input", "out"]) push("call", lane, "-");
    push("call", "input", "a\uD83D");
    push("call", "out", "b");
    coalescer.flush("call");
    expect(told().at(-1)).toBe("input:a\uD83D|out:b");
  });
});

describe("flush and close", () => {
  test("flush gives out what waits, in order, and calls the window off", () => {
    const { push, clock, coalescer, told } = setUp();
    push("call", "out", "a");
    push("call", "out", "b");
    push("other", "out", "x");
    push("other", "out", "y");
    coalescer.flush("call");
    expect(told()).toEqual(["out:a", "out:x", "out:b"]);
    expect(clock.waiting).toBe(1);
    coalescer.flush("call");
    coalescer.flush("nobody");
    expect(told()).toHaveLength(3);
    push("call", "out", "c");
    expect(told().at(-1)).toBe("out:c");
  });

  test("flushAll gives out everything", () => {
    const { push, clock, coalescer, told } = setUp();
    for (const subject of ["one", "two"]) for (const text of ["a", "b"]) push(subject, "out", text);
    coalescer.flushAll();
    expect(told()).toEqual(["out:a", "out:a", "out:b", "out:b"]);
    expect(clock.waiting).toBe(0);
  });

  test("close gives out everything; nothing comes after it", () => {
    const { push, clock, coalescer, told } = setUp();
    push("call", "out", "a");
    push("call", "out", "b");
    coalescer.close();
    push("call", "out", "c");
    coalescer.flushAll();
    coalescer.close();
    clock.advance(10 * windowMs);
    expect(told()).toEqual(["out:a", "out:b"]);
    expect(clock.waiting).toBe(0);
  });

  test("what the receiver pushes or flushes while it is told keeps its order", () => {
    const texts: string[] = [];
    const { coalescer, push, clock } = setUp({
      emit: (subject, deltas) => {
        const text = deltas.map((delta) => delta.text).join("");
        texts.push(text);
        if (text === "a") push(subject, "out", "b");
        if (text === "bc") coalescer.flush(subject);
        if (text === "last") push(subject, "out", "lost");
      },
    });
    push("call", "out", "a");
    push("call", "out", "c");
    clock.advance(windowMs);
    push("call", "out", "d");
    push("call", "out", "last");
    coalescer.close();
    expect(texts).toEqual(["a", "bc", "d", "last"]);
    expect(clock.waiting).toBe(0);
  });

  test("empty text is nothing", () => {
    const { push, clock, told } = setUp();
    push("call", "out", "");
    expect(clock.waiting).toBe(0);
    push("call", "out", "a");
    expect(told()).toEqual(["out:a"]);
  });
});

describe("sizes", () => {
  test("a delta is at most what the schema allows, and is cut between code points", () => {
    const { push, emits } = setUp();
    const text = "€😀".repeat(20_000);
    push("call", "out", text);
    const pieces = emits.flatMap(({ deltas }) => deltas.map((delta) => delta.text));
    expect(pieces.join("")).toBe(text);
    expect(pieces.length).toBe(Math.ceil(utf8Bytes(text) / limits.deltaBytes));
    for (const piece of pieces) {
      expect(utf8Bytes(piece)).toBeLessThanOrEqual(limits.deltaBytes);
      expect(piece).not.toMatch(/\p{Surrogate}/u);
    }
  });

  test("a subject that holds too much does not wait", () => {
    const { push, told, clock } = setUp({ maxBytes: 6 });
    push("call", "out", "a");
    push("call", "out", "€");
    expect(told()).toEqual(["out:a"]);
    push("call", "out", "€");
    expect(told()).toEqual(["out:a", "out:€€"]);
    push("call", "out", "b");
    clock.advance(windowMs);
    expect(told()).toEqual(["out:a", "out:€€", "out:b"]);
  });

  test("a subject that changes lanes too often does not wait", () => {
    const { push, told } = setUp({ maxDeltas: 3 });
    for (const lane of ["out", "err", "out", "out", "err", "out"]) push("call", lane, "x");
    expect(told()).toEqual(["out:x", "err:x", "out:xx|err:x|out:x"]);
  });
});

describe("halves of a surrogate pair", () => {
  const [high, low] = ["\uD83D", "\uDE00"];

  test("are joined again, whatever comes between them on other lanes", () => {
    const { push, clock, told } = setUp();
    push("call", "out", `a${high}`);
    push("call", "err", "x");
    clock.advance(5 * windowMs);
    push("call", "out", `${low}b`);
    clock.advance(windowMs);
    expect(told()).toEqual(["out:a", "err:x", "out:😀b"]);
  });

  test("a first half alone is given out by a flush", () => {
    const { push, clock, coalescer, emits } = setUp();
    push("call", "out", high);
    expect(emits).toEqual([]);
    expect(clock.waiting).toBe(0);
    coalescer.flush("call");
    expect(emits.map(({ deltas }) => deltas)).toEqual([[{ lane: "out", text: high, origin: "of out" }]]);
  });

  test("a first half without its second is given out with what follows", () => {
    const { push, emits } = setUp();
    push("call", "out", high);
    push("call", "out", "x");
    expect(emits[0]!.deltas).toEqual([{ lane: "out", text: `${high}x`, origin: "of out" }]);
  });
});

type Step =
  | { do: "push"; piece: Piece<string> }
  | { do: "advance"; ms: number }
  | { do: "flush"; subject: string }
  | { do: "flushAll" };

const subject = fc.constantFrom("one", "two");
const lanes = ["out", "err", ...asides];
const lane = fc.constantFrom(...lanes);

const pieceWith = (text: fc.Arbitrary<string>): fc.Arbitrary<Piece<string>> =>
  fc.record({ subject, lane, text }).map(({ subject, lane, text }) => pieceOf(subject, lane, text));

const stepsWith = (text: fc.Arbitrary<string>): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ do: fc.constant("push" as const), piece: pieceWith(text) }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant("advance" as const), ms: fc.nat(2 * windowMs) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("flush" as const), subject }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("flushAll" as const) }) },
    ),
    { maxLength: 60 },
  );

const wholeText = fc.string({ unit: fc.constantFrom("a", "é", "€", "😀"), maxLength: 12 });
const brokenText = fc.string({ unit: fc.constantFrom("a", "€", "\uD83D", "\uDE00"), maxLength: 4 });
const deltaBytes = 16;
const sizes = { maxBytes: 40, deltaBytes, maxDeltas: 5 };

function run({ coalescer, clock }: Pick<ReturnType<typeof setUp>, "coalescer" | "clock">, step: Step): void {
  if (step.do === "push") coalescer.push(step.piece);
  else if (step.do === "advance") clock.advance(step.ms);
  else if (step.do === "flush") coalescer.flush(step.subject);
  else coalescer.flushAll();
}

const pushed = (steps: readonly Step[]): Piece<string>[] =>
  steps.flatMap((step) => (step.do === "push" ? [step.piece] : []));

/** Some of a subject's text unit by unit, each with its lane and what it came with. */
const unitsOn = (pieces: readonly Piece<string>[], whose: string, on: (lane: string) => boolean): string[] =>
  pieces
    .filter(({ subject, lane }) => subject === whose && on(lane))
    .flatMap(({ lane, text, origin }) => text.split("").map((unit) => `${lane} ${origin} ${unit}`));

const isAside = (lane: string): boolean => asides.includes(lane);

/** What must not change: the units of each aside by itself, and those of all other lanes together. */
const units = (pieces: readonly Piece<string>[], whose: string): string[][] => [
  unitsOn(pieces, whose, (lane) => !isAside(lane)),
  ...asides.map((aside) => unitsOn(pieces, whose, (lane) => lane === aside)),
];

/** How much of an aside stands before each unit of the other lanes. */
function asideBefore(pieces: readonly Piece<string>[], whose: string, aside: string): number[] {
  let before = 0;
  return pieces.flatMap(({ subject, lane, text }) => {
    if (subject !== whose) return [];
    if (lane === aside) before += text.length;
    return isAside(lane) ? [] : text.split("").map(() => before);
  });
}

const given = (emits: ReturnType<typeof setUp>["emits"]): Piece<string>[] =>
  emits.flatMap(({ subject, deltas }) => deltas.map((delta) => ({ subject, ...delta })));

describe("whatever happens", () => {
  test("nothing is lost, the lanes of a subject keep their order but for asides, every delta is within its bounds", () => {
    fc.assert(
      fc.property(stepsWith(wholeText), (steps) => {
        const set = setUp(sizes);
        for (const step of steps) run(set, step);
        set.coalescer.close();
        const [before, after] = [pushed(steps), given(set.emits)];
        for (const of of ["one", "two"]) expect(units(after, of)).toEqual(units(before, of));
        for (const { text } of after) {
          expect(text).not.toBe("");
          expect(utf8Bytes(text)).toBeLessThanOrEqual(deltaBytes);
          expect(text).not.toMatch(/\p{Surrogate}/u);
        }
        expect(set.clock.waiting).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  test("an aside is never behind", () => {
    fc.assert(
      fc.property(stepsWith(wholeText), fc.constantFrom(...asides), (steps, aside) => {
        const set = setUp(sizes);
        for (const step of steps) run(set, step);
        set.coalescer.close();
        for (const of of ["one", "two"]) {
          const pushedBefore = asideBefore(pushed(steps), of, aside);
          const givenBefore = asideBefore(given(set.emits), of, aside);
          for (const [at, count] of givenBefore.entries()) expect(count).toBeGreaterThanOrEqual(pushedBefore[at]!);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("in a window each of two lanes that take turns makes one delta, where one of them is an aside", () => {
    fc.assert(
      fc.property(fc.array(wholeText, { minLength: 2, maxLength: 60 }), (texts) => {
        const set = setUp();
        for (const text of ["first", ...texts]) for (const lane of ["input", "out"]) set.push("one", lane, text);
        set.clock.advance(windowMs);
        expect(given(set.emits).length).toBeLessThanOrEqual(4);
      }),
      { numRuns: 300 },
    );
  });

  test("each lane's text is what was pushed, also when pairs are cut", () => {
    fc.assert(
      fc.property(stepsWith(brokenText), (steps) => {
        const set = setUp(sizes);
        for (const step of steps) run(set, step);
        set.coalescer.close();
        const [before, after] = [pushed(steps), given(set.emits)];
        for (const of of ["one", "two"]) {
          for (const on of lanes) {
            const textOf = (pieces: readonly Piece[]): string =>
              pieces.map(({ subject, lane, text }) => (subject === of && lane === on ? text : "")).join("");
            expect(textOf(after)).toBe(textOf(before));
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  test("a flush leaves nothing of its subject behind, and no piece waits longer than a window", () => {
    fc.assert(
      fc.property(stepsWith(wholeText), (steps) => {
        const set = setUp(sizes);
        const done: Step[] = [];
        for (const step of steps) {
          run(set, step);
          done.push(step);
          const settled =
            step.do === "flushAll" || (step.do === "advance" && step.ms >= windowMs) ? ["one", "two"] : [];
          if (step.do === "flush") settled.push(step.subject);
          for (const of of settled) expect(units(given(set.emits), of)).toEqual(units(pushed(done), of));
        }
      }),
      { numRuns: 300 },
    );
  });

  test("a subject never holds more than its bound", () => {
    fc.assert(
      fc.property(stepsWith(wholeText), (steps) => {
        const set = setUp(sizes);
        const done: Step[] = [];
        for (const step of steps) {
          run(set, step);
          done.push(step);
          for (const of of ["one", "two"]) {
            const textOf = (pieces: readonly Piece[]): string =>
              pieces.map(({ subject, text }) => (subject === of ? text : "")).join("");
            expect(utf8Bytes(textOf(pushed(done))) - utf8Bytes(textOf(given(set.emits)))).toBeLessThan(sizes.maxBytes);
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});
