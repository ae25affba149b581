// What is true of every response's events, in the words of the recorded streams: one counter, brackets around items, one terminal.
import { expect } from "vitest";

type Frame = Readonly<Record<string, unknown>> & { readonly type: string };

const terminals = new Set(["response.completed", "response.failed", "response.incomplete"]);

export function checkOrder(numbered: readonly { readonly number: number; readonly frame: object }[]): void {
  expect(numbered.map(({ number }) => number)).toEqual(numbered.map((_, index) => index));
  const frames = numbered.map(({ frame }) => frame as Frame);
  expect(frames[0]!.type).toBe("response.created");
  expect(frames.filter(({ type }) => terminals.has(type))).toHaveLength(1);
  expect(terminals.has(frames.at(-1)!.type)).toBe(true);
  const open = new Map<number, string>();
  let next = 0;
  for (const frame of frames) {
    const index = frame["output_index"] as number | undefined;
    if (index === undefined) continue;
    if (frame.type === "response.output_item.added") {
      expect(index).toBe(next++);
      open.set(index, (frame["item"] as { id: string }).id);
    } else if (frame.type === "response.output_item.done") {
      expect((frame["item"] as { id: string }).id).toBe(open.get(index));
      open.delete(index);
    } else expect(frame["item_id"]).toBe(open.get(index));
  }
  expect([...open]).toEqual([]);
  checkPairs(frames);
}

/** Every in_progress has its end right before its item's done; nothing but MCP says failed. */
function checkPairs(frames: readonly Frame[]): void {
  for (const [at, { type, item_id }] of frames.entries()) {
    if (!/_call\.(completed|failed)$/.test(type)) continue;
    const done = frames.slice(at + 1).find((frame) => (frame["item"] as { id?: string } | undefined)?.id === item_id);
    expect(done?.type).toBe("response.output_item.done");
    const begun = frames.findIndex((frame) => frame.type.endsWith(".in_progress") && frame["item_id"] === item_id);
    expect(begun).toBeGreaterThan(-1);
    expect(begun).toBeLessThan(at);
  }
  expect(frames.filter(({ type }) => type.endsWith(".failed") && !/mcp|^response\.failed$/.test(type))).toEqual([]);
}
