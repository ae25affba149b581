// A reply may be cut anywhere on its way: inside a line, an escape, a code point. One reply with text and two calls that
// interleave, cut into two at every byte, and into single bytes, must read the same.
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { anthropicModel } from "../../src/model/anthropic.js";
import type { Model, ModelEvent } from "../../src/model/model.js";
import { openaiModel } from "../../src/model/openai.js";
import { anthropicSse, type ModelWire, openaiSse, openModelWire } from "../support/model-wire.js";
import { eventsOf, textIn } from "../support/provider-model.js";

// Two to four bytes a character, a pair of surrogates that two pieces share, and escapes that stand for a pair.
const texts = ["né €", "😀", "\ud83d", "\ude00!"];
const inputs = [
  ['{"a":"ü', '\\ud83d\\ude00"}'],
  ['{"b":"', '𝄞"}'],
] as const;

const delta = (fields: object, finish_reason: string | null = null) => ({
  choices: [{ delta: fields, finish_reason }],
});
const piece = (index: number, more: object) => delta({ tool_calls: [{ index, ...more }] });
const openaiBody = openaiSse([
  ...texts.map((content) => delta({ content })),
  piece(0, { id: "c0", function: { name: "look" } }),
  piece(1, { id: "c1", function: { name: "find" } }),
  piece(0, { function: { arguments: inputs[0][0] } }),
  piece(1, { function: { arguments: inputs[1][0] } }),
  piece(0, { function: { arguments: inputs[0][1] } }),
  piece(1, { function: { arguments: inputs[1][1] } }),
  delta({}, "tool_calls"),
]);

const start = (index: number, content_block: object) => ({ type: "content_block_start", index, content_block });
const part = (index: number, fields: object) => ({ type: "content_block_delta", index, delta: fields });
const anthropicBody = anthropicSse([
  ...texts.map((text) => part(0, { text })),
  start(1, { type: "tool_use", id: "c0", name: "look" }),
  start(2, { type: "tool_use", id: "c1", name: "find" }),
  part(1, { partial_json: inputs[0][0] }),
  part(2, { partial_json: inputs[1][0] }),
  part(1, { partial_json: inputs[0][1] }),
  part(2, { partial_json: inputs[1][1] }),
  { type: "message_delta", delta: { stop_reason: "tool_use" } },
  { type: "message_stop" },
]);

/** Lets the wire send a piece when the one before it has been handed over: no two melt into one on the way. */
class Lockstep {
  #received = 0;
  #waiting: { bytes: number; resolve: () => void } | undefined;

  readonly fetch: typeof fetch = async (input, init) => {
    const response = await realFetch(input, init);
    this.#received = 0;
    const counted = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        controller.enqueue(chunk);
        this.#received += chunk.byteLength;
        this.#release();
      },
    });
    return new Response(response.body?.pipeThrough(counted), response);
  };

  until(bytes: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = { bytes, resolve };
      this.#release();
    });
  }

  #release(): void {
    if (this.#waiting && this.#waiting.bytes <= this.#received) this.#waiting.resolve();
  }
}

const realFetch = globalThis.fetch;

let wire: ModelWire;
beforeAll(async () => {
  wire = await openModelWire();
});
afterAll(() => wire[Symbol.asyncDispose]());
afterEach(() => {
  vi.unstubAllGlobals();
});

describe.each([
  {
    name: "openai",
    body: openaiBody,
    open: () => openaiModel({ name: "m", apiKey: undefined, baseUrl: wire.openaiUrl }),
  },
  {
    name: "anthropic",
    body: anthropicBody,
    open: () => anthropicModel({ name: "m", apiKey: undefined, baseUrl: wire.anthropicUrl }),
  },
])("$name", ({ body, open }) => {
  const size = Buffer.byteLength(body);

  /** The events of the reply when it is cut at these places. */
  const cutAt = async (model: Model, cuts: readonly number[]): Promise<ModelEvent[]> => {
    const lockstep = new Lockstep();
    vi.stubGlobal("fetch", lockstep.fetch);
    wire.play({ body, cuts, beforePiece: (next) => lockstep.until(cuts[next - 1]!) });
    return eventsOf(model);
  };

  test("whole", async () => {
    const events = await cutAt(open(), []);
    const inputOf = (index: number): string =>
      events.map((event) => (event.type === "tool_call" && event.index === index ? (event.input ?? "") : "")).join("");
    expect(textIn(events)).toBe("né €😀😀!");
    expect([0, 1].map((index) => JSON.parse(inputOf(index)))).toEqual([{ a: "ü😀" }, { b: "𝄞" }]);
    expect(events.at(-1)).toMatchObject({ type: "end", reason: "tool_calls" });
  });

  test("M1, M2: cut into two at every byte", { timeout: 120_000 }, async () => {
    const model = open();
    const whole = await cutAt(model, []);
    for (let at = 1; at < size; at++) expect(await cutAt(model, [at]), `cut at byte ${at}`).toEqual(whole);
  });

  test("M1, M2: cut into single bytes", { timeout: 60_000 }, async () => {
    const model = open();
    const whole = await cutAt(model, []);
    expect(
      await cutAt(
        model,
        Array.from({ length: size - 1 }, (_, index) => index + 1),
      ),
    ).toEqual(whole);
  });
});
