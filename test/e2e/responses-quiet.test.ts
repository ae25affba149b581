// A stream of a real server on which nothing happens: comments say that it is alive, between events and never inside one.
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AgentServer, makeAgentServer } from "../fixtures/engine/agent-server.js";

let server: AgentServer;
beforeAll(async () => {
  const turn = { user: { exact: "Wait" }, replies: [{ events: [{ text: "I wait." }, { hang: true as const }] }] };
  server = await makeAgentServer({ script: { turns: [turn] }, config: { timing: { heartbeatMs: 100 } } });
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
