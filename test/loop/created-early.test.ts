// A call is created as soon as its name is known, whatever the provider's chunks look like (T3).
import { expect, test } from "vitest";
import { z } from "zod";
import type { ModelEvent } from "../../src/model/model.js";
import { TextPurpose } from "../../src/thread/schema.js";
import { informUser } from "../../src/tool/builtin/inform-user.js";
import { called, cases, isCase, play, replies, said, send, tool, until, valuesOf } from "../support/agent.js";
import { useCores } from "../support/core.js";

const core = useCores();
const end: ModelEvent = { type: "end", reason: "tool_calls", providerReason: "tool_calls" };
const piece = (index: number, parts: { id?: string; name?: string; input?: string }): ModelEvent => ({
  type: "tool_call",
  index,
  ...parts,
});
/** Plays one reply of these pieces, then a last word. */
const playPieces = (pieces: readonly ModelEvent[], tools = [tool("look"), tool("listen")]) =>
  play(core({ model: replies([...pieces, end], said("ok")), tools }));

test("T3: before the input is complete", async () => {
  let goOn: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  async function* streaming(): AsyncGenerator<ModelEvent> {
    yield piece(0, { id: "a", name: "look", input: '{"a' });
    await held;
    yield piece(0, { input: '":1}' });
    yield end;
  }
  const opened = core({ model: replies(streaming, said("ok")), tools: [tool("look")] });
  const { threadId } = await send(opened);
  const early = await until(opened, threadId, isCase("toolCallCreated"));
  expect(cases(early)).not.toContain("toolCallInputCompleted");
  goOn();
  const events = await until(opened, threadId, isCase("runCompleted"));
  expect(
    valuesOf(events, "toolCallInputDelta")
      .map(({ text }) => text)
      .join(""),
  ).toBe('{"a":1}');
});

test.each([
  ["id before name", [piece(0, { id: "a" }), piece(0, { name: "look" }), piece(0, { input: "{}" })]],
  ["name before id", [piece(0, { name: "look" }), piece(0, { id: "a" }), piece(0, { input: "{}" })]],
  ["input before name", [piece(0, { input: "{" }), piece(0, { name: "look", id: "a" }), piece(0, { input: "}" })]],
  ["name in pieces", [piece(0, { id: "a", name: "lo" }), piece(0, { name: "ok" }), piece(0, { input: "{}" })]],
  ["name repeated", [piece(0, { id: "a", name: "look" }), piece(0, { name: "look", input: "{}" })]],
  ["no input at all", [piece(0, { id: "a", name: "look" })]],
])("T3: %s", async (_, pieces) => {
  const opened = core({ model: replies([...pieces, end], said("ok")), tools: [tool("look"), tool("listen")] });
  const { events } = await play(opened);
  const created = valuesOf(events, "toolCallCreated");
  expect(created).toMatchObject([{ toolName: "look", title: "The look", index: 0, attempt: 1 }]);
  const ids = new Set(
    events.flatMap(({ payload }) => (payload.value && "toolCallId" in payload.value ? [payload.value.toolCallId] : [])),
  );
  expect([...ids]).toEqual([created[0]!.toolCallId]);
  expect((await opened.toolCalls.get(created[0]!.toolCallId)).call.providerCallId).toBe("a");
  expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ success: true }]);
});

test("T3: a name that begins another tool's name waits for what follows", async () => {
  const tools = [tool("read"), tool("read_file")];
  const whole = await playPieces([piece(0, { name: "read" }), piece(0, { input: "{}" })], tools);
  expect(valuesOf(whole.events, "toolCallCreated")).toMatchObject([{ toolName: "read" }]);
  const longer = await playPieces(
    [piece(0, { name: "read" }), piece(0, { name: "_file" }), piece(0, { input: "{}" })],
    tools,
  );
  expect(valuesOf(longer.events, "toolCallCreated")).toMatchObject([{ toolName: "read_file" }]);
});

test("T3: calls interleave, each with its own id and input", async () => {
  const { events } = await playPieces([
    piece(0, { name: "look", id: "same" }),
    piece(1, { name: "listen", id: "same" }),
    piece(0, { input: '{"at":' }),
    piece(1, { input: '{"to":' }),
    piece(0, { input: '"a"}' }),
    piece(1, { input: '"b"}' }),
  ]);
  const created = valuesOf(events, "toolCallCreated");
  expect(created.map(({ toolName, index }) => [toolName, index])).toEqual([
    ["look", 0],
    ["listen", 1],
  ]);
  const inputOf = (id: string) =>
    valuesOf(events, "toolCallInputDelta")
      .filter(({ toolCallId }) => toolCallId === id)
      .map(({ text }) => text)
      .join("");
  expect(created.map(({ toolCallId }) => inputOf(toolCallId))).toEqual(['{"at":"a"}', '{"to":"b"}']);
});

test("T3: a provider that repeats its ids in every turn makes new calls all the same", async () => {
  const model = replies(called({ name: "look", id: "call_0" }), called({ name: "look", id: "call_0" }), said("ok"));
  const { events } = await play(core({ model, tools: [tool("look")] }));
  const ids = valuesOf(events, "toolCallCreated").map(({ toolCallId }) => toolCallId);
  expect(new Set(ids).size).toBe(2);
});

test("a call's end of input is known early where the provider says so", async () => {
  const { events } = await playPieces([
    piece(0, { name: "look", input: "{}" }),
    { type: "tool_call_end", index: 0 },
    piece(1, { name: "listen", input: "{}" }),
    { type: "tool_call_end", index: 1 },
  ]);
  const order = events.flatMap(({ payload }) =>
    payload.case === "toolCallCreated" || payload.case === "toolCallInputCompleted" ? [payload.case] : [],
  );
  expect(order).toEqual(["toolCallCreated", "toolCallInputCompleted", "toolCallCreated", "toolCallInputCompleted"]);
});

test("the text of a declared field is decoded as it comes", async () => {
  const speak = tool("speak", async () => ({}), {
    input: z.object({ message: z.string() }),
    textFields: [{ field: "message", purpose: "speech" }],
  });
  const input = JSON.stringify({ message: 'Line one\n"quoted" 😀 é' }).replace("😀", "\\ud83d\\ude00");
  const pieces = [...input].map((character) => piece(0, { input: character }));
  const { events } = await playPieces([piece(0, { name: "speak" }), ...pieces], [speak]);
  const deltas = valuesOf(events, "toolCallTextDelta");
  expect(deltas.map(({ text }) => text).join("")).toBe('Line one\n"quoted" 😀 é');
  expect(deltas[0]).toMatchObject({ field: "message", purpose: TextPurpose.SPEECH });
});

test("the text of a declared field costs a handful of events, however many pieces it comes in at once", async () => {
  const message = Array.from({ length: 1_000 }, (_, index) => `word${index} `).join("");
  const input = JSON.stringify({ message });
  const pieces = input.match(/.{1,8}/g)!.map((text) => piece(0, { input: text }));
  const { events } = await playPieces([piece(0, { name: "inform_user" }), ...pieces], [informUser]);
  const textOf = (deltas: readonly { text: string }[]) => deltas.map(({ text }) => text).join("");
  const inputs = valuesOf(events, "toolCallInputDelta");
  const spoken = valuesOf(events, "toolCallTextDelta");
  expect([textOf(inputs), textOf(spoken)]).toEqual([input, message]);
  expect(inputs.length + spoken.length).toBeLessThan(10);
  const order = cases(events);
  expect(order.lastIndexOf("toolCallTextDelta")).toBeLessThan(order.indexOf("toolCallInputCompleted"));
  expect(order.lastIndexOf("toolCallInputDelta")).toBeLessThan(order.indexOf("toolCallInputCompleted"));
});

test("what was said before a call or a reasoning is stored before it", async () => {
  const spoken: ModelEvent[] = ["I ", "shall ", "look."].map((text) => ({ type: "text", text }));
  const { events } = await playPieces([...spoken, { type: "reasoning", text: "Hm." }, piece(0, { name: "look" })]);
  const order = events
    .slice(4)
    .flatMap(({ payload }) =>
      payload.case === "messageDelta"
        ? [payload.value.text]
        : payload.case?.match(/reasoningDelta|toolCallCreated/)
          ? [payload.case]
          : [],
    );
  expect(order.slice(0, -1)).toEqual(["I ", "shall look.", "reasoningDelta", "toolCallCreated"]);
});
