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
    push: (subject: string, lane: string, text: string) =>
      coalescer.push({ subject, lane, text, origin: `of ${lane}` }),
    /** Each emit as `lane:text|lane:text`. */
    told: () => emits.map(({ deltas }) => deltas.map(({ lane, text }) => `${lane}:${text}`).join("|")),
  };
}

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
const lane = fc.constantFrom("out", "err", "input");

const pieceWith = (text: fc.Arbitrary<string>): fc.Arbitrary<Piece<string>> =>
  fc.record({ subject, lane, text }).map((piece) => ({ ...piece, origin: `of ${piece.lane}` }));

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

/** The text of a subject unit by unit, each with its lane and what it came with: equal when the texts and the order of the lanes are. */
const units = (pieces: readonly Piece<string>[], whose: string): string[] =>
  pieces
    .filter(({ subject }) => subject === whose)
    .flatMap(({ lane, text, origin }) => text.split("").map((unit) => `${lane} ${origin} ${unit}`));

const given = (emits: ReturnType<typeof setUp>["emits"]): Piece<string>[] =>
  emits.flatMap(({ subject, deltas }) => deltas.map((delta) => ({ subject, ...delta })));

describe("whatever happens", () => {
  test("nothing is lost, the lanes of a subject keep their order, every delta is within its bounds", () => {
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

  test("each lane's text is what was pushed, also when pairs are cut", () => {
    fc.assert(
      fc.property(stepsWith(brokenText), (steps) => {
        const set = setUp(sizes);
        for (const step of steps) run(set, step);
        set.coalescer.close();
        const [before, after] = [pushed(steps), given(set.emits)];
        for (const of of ["one", "two"]) {
          for (const on of ["out", "err", "input"]) {
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
