// A stream of a real server on which nothing happens: comments say that it is alive, between events and never inside one; and it lasts as
// long as its response, also where streams of threads do not.
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AgentServer, makeAgentServer } from "../fixtures/engine/agent-server.js";

let server: AgentServer;
beforeAll(async () => {
  const waits = { user: { exact: "Wait" }, replies: [{ events: [{ text: "I wait." }, { hang: true as const }] }] };
  // Longer than two streams last.
  const thinks = {
    user: { exact: "Think" },
    replies: [{ events: [{ text: "Well" }, { delayMs: 2_500 }, { text: ", yes." }] }],
  };
  const timing = { heartbeatMs: 100, streamMaxAgeMs: 1_000 };
  server = await makeAgentServer({ script: { turns: [waits, thinks] }, config: { timing } });
  await server.start();
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  await server.remove();
});

test("comments come while nothing happens", async () => {
  const leave = new AbortController();
  const body = JSON.stringify({ input: "Wait", stream: true });
  const response = await fetch(`${server.url}/v1/responses`, { method: "POST", body, signal: leave.signal });
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.split(": keep-alive\n\n").length > 3) break;
  }
  leave.abort();
  const frames = text.split("\n\n").filter(Boolean);
  expect(frames[0]).toMatch(/^event: response\.created\n/);
  for (const frame of frames) expect(frame).toMatch(/^(: keep-alive|event: \S+\ndata: \{.*\})$/);
});

test.each([true, false])(
  "a response that takes longer than streams last ends as any other, streamed: %s",
  async (stream) => {
    const body = JSON.stringify({ input: "Think", stream });
    const text = await (await fetch(`${server.url}/v1/responses`, { method: "POST", body })).text();
    const last = stream ? /^event: response\.completed\ndata: (.*)$/m.exec(text)?.[1] : `{"response":${text}}`;
    expect(JSON.parse(last ?? "{}")).toMatchObject({
      response: { status: "completed", output: [{ content: [{ text: "Well, yes." }] }] },
    });
  },
);
