// What followers keep of an append lies apart from what is gone behind it.
import { expect, test } from "vitest";
import { keptMemory } from "../../src/log/kept-memory.js";
import { packSegments } from "../../src/log/segment.js";
import { frameOf } from "./support.js";

test("pieces share memory with one another, never with Node's pool, and never a byte", () => {
  const pieces = Array.from({ length: 1000 }, (_, index) => keptMemory(1 + ((index * 37) % 1500)).fill(index % 251));
  for (const [index, piece] of pieces.entries()) expect(piece.every((byte) => byte === index % 251)).toBe(true);
  const blocks = new Set(pieces.map(({ buffer }) => buffer));
  expect(blocks.size).toBeLessThan(pieces.length / 5);
  expect(blocks).not.toContain(Buffer.allocUnsafe(1).buffer);
  for (const { byteLength } of blocks) expect(byteLength).toBeLessThanOrEqual(8 * 1024);
});

test("a large piece has memory of its own, and leaves the others theirs", () => {
  const before = keptMemory(16);
  expect(keptMemory(100_000).buffer.byteLength).toBe(100_000);
  expect(keptMemory(16).buffer).toBe(before.buffer);
});

test("a segment lies there", () => {
  const [segment] = packSegments([frameOf("kept")], 1n);
  expect(segment!.value.buffer).not.toBe(Buffer.allocUnsafe(1).buffer);
});
