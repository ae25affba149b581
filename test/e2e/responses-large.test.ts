// A response much larger than what is kept of it, on a real server: who comes late, and who reads slowly, gets the same bytes as who was there.
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type AgentServer, makeAgentServer } from "../fixtures/engine/agent-server.js";
import { useGate } from "../fixtures/engine/gate.js";
import { eventsIn } from "../fixtures/responses/door.js";
import { checkEvents } from "../fixtures/responses/open-responses.js";

/** 12 MB, three times what is kept. */
const story = "Once upon a time there was a loom. ".repeat(340_000).slice(0, 12_000_000);

const gate = useGate();
let server: AgentServer;
beforeAll(async () => {
  const knock = { toolCall: { name: "knock", input: { who: "Eve" } } };
  const replies = [{ chunk: 16_000, events: [{ text: story }, knock] }, { events: [{ text: "The end." }] }];
  server = await makeAgentServer({ script: { replies }, env: gate.env() });
  await server.start();
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  expect(server.log()).not.toMatch(/"level":"(error|fatal)"/);
  await server.remove();
});

test("late and slow followers of twelve megabytes get every byte", async () => {
  const body = JSON.stringify({
    input: "A story",
    background: true,
    tools: [{ type: "mcp", server_label: "heddle" }],
  });
  const created = await (await fetch(`${server.url}/v1/responses`, { method: "POST", body })).json();
  const { id } = created as { id: string };
  const url = `${server.url}/v1/responses/${id}?stream=true`;
  const slow = await opened(url); // Nobody reads what it gets before all others are done.
  const present = fetch(url).then((answer) => answer.text());
  await gate.knocked("Eve");
  const late = fetch(url).then((answer) => answer.text());
  const resumed = fetch(`${url}&starting_after=10`).then((answer) => answer.text());
  gate.open("Eve", "welcome");
  const whole = await present;
  let read = "";
  for await (const chunk of slow.setEncoding("utf8")) read += chunk;
  const events = eventsIn(whole);
  checkEvents(events);
  expect(events.at(-1)!.type).toBe("response.completed");
  for (const other of [await late, read]) expect(other === whole).toBe(true);
  expect(whole.endsWith(await resumed)).toBe(true);
  const deltas = events.flatMap(({ type, delta }) => (type === "response.output_text.delta" ? [delta] : []));
  expect(deltas.join("") === `${story}The end.`).toBe(true);
  await vi.waitFor(async () => expect(await server.process.status()).toMatchObject({ subscriptions: 0, runs: 0 }), {
    timeout: 20_000,
    interval: 50,
  });
}, 120_000);

async function opened(url: string): Promise<IncomingMessage> {
  const [response] = await once(request(url).end(), "response");
  return response as IncomingMessage;
}
