// A provider's key goes to the provider and nowhere else: not into events, results, errors or the server's log, even when the
// provider, or the model, repeats it.
import { toJsonString } from "@bufbuild/protobuf";
import { afterEach, expect, test } from "vitest";
import { StreamThreadEventsResponseSchema } from "../../gen/heddle/v1/event_pb.js";
import { ToolCallSchema } from "../../gen/heddle/v1/tool_call_pb.js";
import { ContentRole, RunOutcome, ToolCallOutcome } from "../../src/thread/schema.js";
import { useAgentServers } from "../fixtures/engine/agent-server.js";
import { Session } from "../fixtures/engine/session.js";
import { valuesOf } from "../support/agent.js";
import { openaiChunk, openaiSse, openModelWire } from "../support/model-wire.js";

/** Like no key that anybody would recognise by its form: it must be known as the one that was configured. */
const key = "sesame_open_4711_do-not-tell";

const useServer = useAgentServers();
const sessions: Session[] = [];
afterEach(async () => {
  await Promise.all(sessions.splice(0).map((session) => session.close()));
});

async function startServer(baseUrl: string) {
  const env = { OPENAI_API_KEY: key, OPENAI_BASE_URL: baseUrl };
  const server = await useServer({
    script: "knocking.json",
    agent: { model: "openai:gpt-test" },
    logLevel: "trace",
    env,
  });
  await server.start();
  const session = new Session(server.url);
  sessions.push(session);
  return { server, session };
}

test("a provider that refuses the key, and quotes it", async () => {
  await using wire = await openModelWire();
  const error = {
    message: `Incorrect API key provided: ${key}.`,
    type: "invalid_request_error",
    code: "invalid_api_key",
  };
  wire.play({ status: 401, headers: { "content-type": "application/json" }, body: JSON.stringify({ error }) });
  const { server, session } = await startServer(wire.openaiUrl);
  const { threadId } = await session.start("Hello");
  const events = await session.until(threadId, "runCompleted");
  expect((await wire.request()).headers.authorization).toBe(`Bearer ${key}`);
  expect(valuesOf(events, "runCompleted")).toMatchObject([
    { outcome: RunOutcome.FAILED, errorMessage: expect.stringContaining("OPENAI_API_KEY") },
  ]);
  expect(await server.stop()).toBe(0);
  expect(asJson(events) + server.log()).not.toContain(key);
});

test("a model that says the key, in text and in a call", async () => {
  await using wire = await openModelWire();
  const [head, tail] = [key.slice(0, 10), key.slice(10)];
  const say = JSON.stringify({ message: `The key is ${key}.` });
  const call = { index: 0, id: `call_${key}`, type: "function", function: { name: "inform_user", arguments: say } };
  wire.play(
    {
      body: openaiSse([
        openaiChunk({ role: "assistant", content: `It is ${head}` }),
        openaiChunk({ content: `${tail}, I think.` }),
        openaiChunk({ tool_calls: [call] }),
        openaiChunk({}, "tool_calls"),
      ]),
    },
    { body: openaiSse([openaiChunk({ content: `Once more: ${key}` }), openaiChunk({}, "stop")]) },
  );
  const { server, session } = await startServer(wire.openaiUrl);
  const { threadId } = await session.start("Tell me the key");
  const events = await session.until(threadId, "runCompleted");
  expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
  const [complete] = valuesOf(events, "toolCallComplete");
  expect(complete).toMatchObject({ outcome: ToolCallOutcome.SUCCEEDED });
  const { toolCallId } = complete!;
  const { toolCall, contents } = await session.clients.toolCalls.getToolCall({ toolCallId });
  // The input alone is kept as the model wrote it: whoever runs the call needs it exact.
  const bodies = contents.filter(({ info }) => info?.role !== ContentRole.INPUT);
  expect(bodies.map(({ info }) => info?.contentId).sort()).toEqual(["model", "result"]);
  expect(await server.stop()).toBe(0);
  const all = [
    asJson(events),
    textOf(valuesOf(events, "messageDelta")),
    textOf(valuesOf(events, "toolCallInputDelta")),
    textOf(valuesOf(events, "toolCallTextDelta")),
    toJsonString(ToolCallSchema, toolCall!),
    ...bodies.map(({ data }) => Buffer.from(data).toString()),
    server.log(),
  ];
  expect(all.filter((text) => text.includes(key))).toEqual([]);
});

const textOf = (deltas: readonly { readonly text: string }[]): string => deltas.map(({ text }) => text).join("");

const asJson = (events: Parameters<typeof valuesOf>[0]): string =>
  events.map((event) => toJsonString(StreamThreadEventsResponseSchema, event)).join("\n");
