import { describe, expect, test } from "vitest";
import { OutputLines } from "../../../src/tool/process/output-lines.js";
import { OutputRoom } from "../../../src/tool/process/output-room.js";

const bytes = (text: string): Buffer => Buffer.from(text);

function printed(...texts: readonly string[]): OutputLines {
  const lines = new OutputLines(1024 * 1024);
  for (const text of texts) lines.add("stdout", bytes(text));
  return lines;
}

const textsOf = (lines: readonly { text: string }[]): string[] => lines.map(({ text }) => text);

describe("lines", () => {
  test("keep the order in which both streams came, and number them together", () => {
    const lines = new OutputLines(1024);
    lines.add("stdout", bytes("one\n"));
    lines.add("stderr", bytes("two\n"));
    lines.add("stdout", bytes("three\nfour\n"));
    expect(lines.last(10)).toEqual([
      { number: 1, stream: "stdout", text: "one" },
      { number: 2, stream: "stderr", text: "two" },
      { number: 3, stream: "stdout", text: "three" },
      { number: 4, stream: "stdout", text: "four" },
    ]);
    expect(lines.printedBytes).toBe(19);
  });

  test("are put together from pieces, also where a piece cuts a character", () => {
    const text = bytes("größe\r\nnext\n");
    const lines = new OutputLines(1024);
    for (const byte of text) lines.add("stdout", Buffer.from([byte]));
    expect(textsOf(lines.last(10))).toEqual(["größe", "next"]);
  });

  test("that have no end yet are shown without a number, and are not counted", () => {
    const lines = printed("one\nPassword: ");
    expect(lines.count).toBe(1);
    expect(lines.unfinished()).toEqual([{ stream: "stdout", text: "Password: " }]);
    lines.add("stdout", bytes("ok\n"));
    expect(lines.after(1, 10)).toEqual([{ number: 2, stream: "stdout", text: "Password: ok" }]);
    expect(lines.unfinished()).toEqual([]);
  });

  test("that never get an end are lines when nothing more comes", () => {
    const lines = printed("one\ntwo");
    lines.close();
    expect([textsOf(lines.last(10)), lines.unfinished()]).toEqual([["one", "two"], []]);
  });

  test("without an end are broken, between characters", () => {
    const lines = printed(`a${"😀".repeat(10_000)}`);
    lines.close();
    expect(textsOf(lines.last(10)).join("")).toBe(`a${"😀".repeat(10_000)}`);
    for (const { text } of lines.last(10)) expect(text).not.toMatch(/\p{Cs}/u);
    expect(lines.count).toBe(3);
  });
});

describe("a reader", () => {
  const lines = printed("1\n2\n3\n4\n5\n");

  test.each([
    [0, 2, ["1", "2"]],
    [2, 2, ["3", "4"]],
    [4, 10, ["5"]],
    [5, 10, []],
    [99, 10, []],
  ])("gets what comes after line %d, %d lines at most", (after, most, texts) => {
    expect(textsOf(lines.after(after, most))).toEqual(texts);
  });

  test("gets the last ones", () => {
    expect(textsOf(lines.last(2))).toEqual(["4", "5"]);
  });
});

describe("memory", () => {
  test("is bounded: the oldest lines go, the numbers stay", () => {
    const lines = new OutputLines(10_000);
    for (let number = 1; number <= 10_000; number++) lines.add("stdout", bytes(`line ${number}\n`));
    expect(lines.heldBytes).toBeLessThanOrEqual(10_000);
    expect(lines.count).toBe(10_000);
    const kept = lines.last(10_000);
    expect(kept.at(-1)).toEqual({ number: 10_000, stream: "stdout", text: "line 10000" });
    expect(kept[0]!.number).toBe(lines.dropped + 1);
    expect(kept.every(({ number, text }) => text === `line ${number}`)).toBe(true);
    expect(lines.after(0, 1)).toEqual([kept[0]]);
    expect(lines.after(9_999, 10)).toEqual([kept.at(-1)]);
  });

  test("is bounded for empty lines too", () => {
    const lines = new OutputLines(10_000);
    lines.add("stdout", Buffer.alloc(100_000, "\n"));
    expect([lines.count, lines.last(100_000).length]).toEqual([100_000, 156]);
  });

  test("of all processes is bounded, and taken from whoever holds most", () => {
    const room = new OutputRoom({ processBytes: 100_000, allBytes: 150_000 });
    const quiet = room.open();
    quiet.add("stdout", bytes("a word\n"));
    const loud = [room.open(), room.open(), room.open()];
    for (let number = 0; number < 10_000; number++) loud[number % 3]!.add("stderr", bytes(`${number}\n`));
    expect(room.bytes).toBeLessThanOrEqual(150_000);
    expect(room.bytes).toBe([quiet, ...loud].reduce((sum, { heldBytes }) => sum + heldBytes, 0));
    expect(textsOf(quiet.last(1))).toEqual(["a word"]);
    for (const lines of [quiet, ...loud]) room.release(lines);
    expect(room.bytes).toBe(0);
  });
});
