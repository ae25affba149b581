// Which call each piece belongs to (M2), as OpenAI says it and as others imitate it.
import { expect, test } from "vitest";
import type { ModelEvent } from "../../src/model/model.js";
import { openaiModel } from "../../src/model/openai.js";
import { openaiChunk, openaiSse } from "../support/model-wire.js";
import { useWire } from "../support/provider-model.js";

const wired = useWire({ create: openaiModel, urlOf: (wire) => wire.openaiUrl });
type Call = Extract<ModelEvent, { type: "tool_call" }>;

/** The calls of a reply that is made of these lists of pieces, one chunk each. */
async function callsOf(chunks: readonly (readonly object[])[], finishReason = "tool_calls") {
  const body = openaiSse([
    ...chunks.map((pieces) => openaiChunk({ tool_calls: pieces })),
    openaiChunk({}, finishReason),
  ]);
  const events = await wired.played(body);
  const calls: { id: string[]; name: string[]; input: string }[] = [];
  for (const { index, id, name, input } of events.filter((event): event is Call => event.type === "tool_call")) {
    calls[index] ??= { id: [], name: [], input: "" };
    if (id !== undefined) calls[index].id.push(id);
    if (name !== undefined) calls[index].name.push(name);
    calls[index].input += input ?? "";
  }
  return { events, calls };
}
const call = (id: string | undefined, name: string, input: string) => ({ id: id ? [id] : [], name: [name], input });
const piece = (index: number | undefined, id?: string | null, name?: string | null, input?: unknown) => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id }),
  type: "function",
  function: { ...(name !== undefined && { name }), ...(input !== undefined && { arguments: input }) },
});

test("id and name at once, then the input in pieces, as they come", async () => {
  const { events } = await callsOf([
    [piece(0, "c1", "look", "")],
    [piece(0, undefined, undefined, '{"a"')],
    [piece(0, undefined, undefined, ":1}")],
  ]);
  expect(events).toEqual([
    { type: "tool_call", index: 0, id: "c1", name: "look" },
    { type: "tool_call", index: 0, input: '{"a"' },
    { type: "tool_call", index: 0, input: ":1}" },
    { type: "end", reason: "tool_calls", providerReason: "tool_calls" },
  ]);
});

test("several calls that interleave", async () => {
  const { calls } = await callsOf([
    [piece(0, "c1", "look", "")],
    [piece(1, "c2", "find", '{"b"')],
    [piece(0, undefined, undefined, '{"a"'), piece(1, undefined, undefined, ":2")],
    [piece(1, undefined, undefined, "}"), piece(0, undefined, undefined, ":1}")],
  ]);
  expect(calls).toEqual([call("c1", "look", '{"a":1}'), call("c2", "find", '{"b":2}')]);
});

test("no index: whole calls, and calls in pieces that follow each other", async () => {
  const whole = await callsOf([[piece(undefined, "c1", "look", "{}"), piece(undefined, "c2", "look", "{}")]]);
  expect(whole.calls).toEqual([call("c1", "look", "{}"), call("c2", "look", "{}")]);
  const pieces = await callsOf([
    [piece(undefined, "c1", "look", "")],
    [piece(undefined, undefined, undefined, "{}")],
    [piece(undefined, "c2", "find", "")],
    [piece(undefined, "", "", '{"b":')],
    [piece(undefined, "c2", undefined, "2}")],
  ]);
  expect(pieces.calls).toEqual([call("c1", "look", "{}"), call("c2", "find", '{"b":2}')]);
});

test("every call has index 0, with ids of their own", async () => {
  const { calls } = await callsOf([
    [piece(0, "c1", "look", '{"a":')],
    [piece(0, "c2", "look", '{"b":')],
    [piece(0, "c1", undefined, "1}")],
    [piece(0, "c2", undefined, "2}")],
  ]);
  expect(calls).toEqual([call("c1", "look", '{"a":1}'), call("c2", "look", '{"b":2}')]);
});

test("no ids at all", async () => {
  const byIndex = await callsOf([[piece(0, undefined, "look", "{}")], [piece(1, null, "look", '{"b":2}')]]);
  expect(byIndex.calls).toEqual([call(undefined, "look", "{}"), call(undefined, "look", '{"b":2}')]);
  const byNothing = await callsOf([
    [piece(0, "", "look", "{}")],
    [piece(0, "", "look", '{"b":2}')],
    [piece(0, "", "find", "{}")],
  ]);
  expect(byNothing.calls).toEqual([
    call(undefined, "look", "{}"),
    call(undefined, "look", '{"b":2}'),
    call(undefined, "find", "{}"),
  ]);
});

test("name and id in different chunks, in either order", async () => {
  const { calls } = await callsOf([
    [piece(0, "c1")],
    [piece(0, undefined, "look")],
    [piece(0, undefined, undefined, "{}")],
    [piece(1, undefined, "find")],
    [piece(1, undefined, undefined, "{}")],
    [piece(1, "c2")],
  ]);
  expect(calls).toEqual([call("c1", "look", "{}"), call("c2", "find", "{}")]);
});

test("later chunks with an empty id and name, or with the same again, or with a made-up id", async () => {
  const { calls } = await callsOf([
    [piece(0, "c1", "look", '{"a"')],
    [piece(0, "", "", ":")],
    [piece(0, "c1", "look", "1")],
    [piece(0, "c9", undefined, "}")],
  ]);
  expect(calls).toEqual([call("c1", "look", '{"a":1}')]);
});

test("a name in parts", async () => {
  const { calls } = await callsOf([[piece(0, "c1", "lo")], [piece(0, "", "ok")], [piece(0, "", "", "{}")]]);
  expect(calls).toEqual([{ id: ["c1"], name: ["lo", "ok"], input: "{}" }]);
});

test("an input that is an object already", async () => {
  const { calls } = await callsOf([[piece(0, "c1", "look", { a: 1 })]]);
  expect(calls).toEqual([call("c1", "look", '{"a":1}')]);
});

test("an input of nothing is an empty object, unless the reply was cut off", async () => {
  expect((await callsOf([[piece(0, "c1", "look", "")]])).calls).toEqual([call("c1", "look", "{}")]);
  expect((await callsOf([[piece(0, "c1", "look", "")]], "length")).calls).toEqual([call("c1", "look", "")]);
});

test("a whole call in one chunk that finishes with stop", async () => {
  const { events } = await callsOf([[piece(0, "c1", "look", "{}")]], "stop");
  expect(events.at(-1)).toEqual({ type: "end", reason: "tool_calls", providerReason: "stop" });
});

test("calls that were cut off are truncated", async () => {
  const { events } = await callsOf([[piece(0, "c1", "look", '{"a')]], "length");
  expect(events.at(-1)).toMatchObject({ reason: "truncated" });
});

test("ids that repeat from one turn to the next are passed on", async () => {
  const turn = [[piece(0, "call_0", "look", "{}")]];
  const turns = [await callsOf(turn), await callsOf(turn)];
  expect(turns.map(({ calls }) => calls[0]?.id)).toEqual([["call_0"], ["call_0"]]);
});
