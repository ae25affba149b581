import { expect, test } from "vitest";
import { lineReader } from "../../../src/tool/mcp/message-lines.js";

function read(maxBytes: number, ...pieces: readonly string[]) {
  const lines: string[] = [];
  let tooLong = 0;
  const take = lineReader({
    maxBytes,
    onLine: (line) => void lines.push(line.toString("utf8")),
    onTooLong: () => void tooLong++,
  });
  for (const piece of pieces) take(Buffer.from(piece));
  return { lines, tooLong };
}

test("lines come whole, wherever they are cut", () => {
  expect(read(100, "a", "b\nc", "d\n\ne\nf")).toEqual({ lines: ["abcd".slice(0, 2), "cd", "", "e"], tooLong: 0 });
});

test("a line that is too long is told once, and skipped to its end", () => {
  expect(read(4, "abc", "def", "ghi", "jkl\nok\n")).toEqual({ lines: ["ok"], tooLong: 1 });
});

test("one that comes in a single piece is bounded by the piece", () => {
  expect(read(4, "abcdefgh\nok\n")).toEqual({ lines: ["abcdefgh", "ok"], tooLong: 0 });
});
