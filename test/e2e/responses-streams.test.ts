// Streams of a real server as they are cut, taken up again, followed by many, left, and called off; through the official SDKs where
// they can do it, and byte by byte where only bytes tell.
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import type { OpenAI } from "openai";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Script } from "../../src/model/script.js";
import { type AgentServer, makeAgentServer } from "../fixtures/engine/agent-server.js";
import { useGate } from "../fixtures/engine/gate.js";
import { eventsIn, framesIn, sdks, useWire } from "../fixtures/responses/door.js";
import { checkEvents, isTerminal, type WireEvent } from "../fixtures/responses/open-responses.js";

const knock = (who: string) => ({ toolCall: { name: "knock", input: { who } } });
/** Longer than pieces wait to be joined: each is an event of its own. */
const slowly = (text: string) => text.split(/(?<= )/).flatMap((word) => [{ delayMs: 60 }, { text: word }]);
const longLine = `${"All work and no play. ".repeat(900)}\n`;

const script: Script = {
  chunk: 8,
  turns: [
    {
      user: "Let ",
      replies: [
        { events: [{ reasoning: "There is a gate." }, { text: "I will knock." }, knock("Ada"), knock("Bob")] },
        { events: [{ text: "They are in, both of them." }] },
      ],
    },
    {
      user: { exact: "Read them" },
      replies: [
        { events: [{ text: "Reading." }, { toolCall: { name: "read_file", input: { path: "config.json" } } }] },
        { events: [{ toolCall: { name: "read_file", input: { path: "missing.txt" } } }] },
        { events: [{ text: "One is there." }] },
      ],
    },
    {
      user: { exact: "A long story" },
      replies: [{ chunk: 20_000, events: [{ text: longLine.repeat(350) }] }],
    },
    {
      user: { exact: "Slowly" },
      replies: [
        {
          chunk: 4,
          events: [{ reasoning: "There is a gate." }, ...slowly("I will knock, and then we will see."), knock("Eve")],
        },
        { events: [{ text: "She is in." }] },
      ],
    },
    { user: { exact: "Hello" }, replies: [{ events: [{ text: "Good morning." }] }] },
    { user: { exact: "Wait" }, replies: [{ events: [{ text: "I wait" }, { hang: true }] }] },
  ],
};

const gate = useGate();
const wire = useWire();
let server: AgentServer;
beforeAll(async () => {
  server = await makeAgentServer({ script, env: gate.env() });
  await server.start();
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  expect(server.log()).not.toMatch(/"level":"(error|fatal)"/);
  await server.remove();
});

const own = { type: "mcp" as const, server_label: "heddle" };
const background = { background: true, tools: [own] };
const streamUrl = (id: string, after?: number) =>
  `${server.url}/v1/responses/${id}?stream=true${after === undefined || after < 0 ? "" : `&starting_after=${after}`}`;
const whole = async (id: string, after?: number): Promise<string> => (await fetch(streamUrl(id, after))).text();

/** Nobody follows anything any more, and nothing runs. */
const atRest = () =>
  vi.waitFor(
    async () => expect(await server.process.status()).toMatchObject({ subscriptions: 0, runs: 0, requests: 1 }),
    { timeout: 20_000, interval: 50 },
  );

/** Reads until it has so many whole events, and leaves. */
async function cutAfter(url: string, events: number, init: RequestInit = {}): Promise<string> {
  const leave = new AbortController();
  const response = await fetch(url, { ...init, signal: leave.signal });
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body!) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (framesIn(text).length >= events) break;
  }
  leave.abort();
  return joined(framesIn(text).slice(0, events));
}

const joined = (frames: readonly string[]): string => frames.map((frame) => `${frame}\n\n`).join("");

const post = (body: object): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

test("cut after every event, and taken up again: the same remainder, byte for byte", async () => {
  const live = await (
    await fetch(`${server.url}/v1/responses`, post({ input: "Read them", stream: true, ...background }))
  ).text();
  const events = eventsIn(live);
  checkEvents(events);
  const { id } = events[0]!["response"] as { id: string };
  expect(await whole(id)).toBe(live);
  const frames = framesIn(live);
  for (const [number] of events.entries()) {
    expect(await cutAfter(streamUrl(id), number + 1)).toBe(joined(frames.slice(0, number + 1)));
    expect(await whole(id, number)).toBe(joined(frames.slice(number + 1)));
  }
  expect(await whole(id, 100_000)).toBe("data: [DONE]\n\n");
  await atRest();
});

test("many follow one that goes on, from wherever they are: identical bytes, and replay is what was live", async () => {
  const first = await cutAfter(
    `${server.url}/v1/responses`,
    8,
    post({ input: "Let them in", stream: true, ...background }),
  );
  await Promise.all([gate.knocked("Ada"), gate.knocked("Bob")]);
  const { id } = eventsIn(first)[0]!["response"] as { id: string };
  const followers = Array.from({ length: 40 }, (_, index) => (index % 10) - 1);
  const reading = followers.map((after) => whole(id, after));
  await vi.waitFor(async () => expect((await server.process.status())["requests"]).toBe(41), {
    timeout: 20_000,
    interval: 50,
  });
  gate.open("Bob", "welcome");
  gate.open("Ada", "welcome");
  const texts = await Promise.all(reading);
  const replay = await whole(id);
  expect(replay.startsWith(first)).toBe(true);
  checkEvents(eventsIn(replay));
  for (const [index, after] of followers.entries())
    expect(joined(framesIn(texts[index]!))).toBe(joined(framesIn(replay).slice(after + 1)));
  await atRest();
});

test("one that does not read holds nobody up; what it missed it gets, unchanged; and it leaves nothing", async () => {
  const created = await fetch(`${server.url}/v1/responses`, post({ input: "A long story", background: true }));
  const { id } = (await created.json()) as { id: string };
  const slow = await opened(streamUrl(id));
  const lost = await opened(streamUrl(id));
  const fast = await whole(id);
  expect(fast.length).toBeGreaterThan(6 * 1024 * 1024);
  checkEvents(eventsIn(fast));
  lost.destroy();
  let text = "";
  for await (const chunk of slow.setEncoding("utf8")) text += chunk;
  expect(text === fast).toBe(true);
  await atRest();
});

/** A response whose body nobody reads yet. */
async function opened(url: string): Promise<IncomingMessage> {
  const asking = request(url, { agent: false });
  asking.end();
  const [response] = (await once(asking, "response")) as [IncomingMessage];
  return response;
}

test("a caller that goes calls its response off, unless that runs in the background", async () => {
  const leave = new AbortController();
  const asked = post({ input: "Let them in", stream: true, tools: [own] });
  const response = await fetch(`${server.url}/v1/responses`, { ...asked, signal: leave.signal });
  await Promise.all([gate.knocked("Ada"), gate.knocked("Bob")]);
  leave.abort();
  await expect(response.text()).rejects.toThrow();
  await Promise.all([gate.left("Ada"), gate.left("Bob")]);
  const silent = new AbortController();
  const waiting = fetch(`${server.url}/v1/responses`, {
    ...post({ input: "Let them in", tools: [own] }),
    signal: silent.signal,
  });
  await Promise.all([gate.knocked("Ada"), gate.knocked("Bob")]);
  silent.abort();
  await expect(waiting).rejects.toThrow();
  await Promise.all([gate.left("Ada"), gate.left("Bob")]);
  await atRest();
});

test("a caller that goes before its response has begun leaves nothing that runs", async () => {
  const { hostname, port } = new URL(server.url);
  const body = JSON.stringify({ input: "Wait" });
  for (let time = 0; time < 5; time++) {
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /v1/responses HTTP/1.1\r\nhost: ${hostname}:${port}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      () => socket.destroy(),
    );
    await once(socket, "close");
    // One that comes behind it is answered behind it.
    await (await fetch(`${server.url}/v1/responses`, post({ input: "Hello" }))).text();
  }
  await atRest();
});

describe.each(sdks)("$sdk", ({ Client }) => {
  const open = () => new Client({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0, fetch: wire.fetch });
  const begin = (client: OpenAI, input = "Let them in") => client.responses.create({ input, ...background });
  const letIn = async () => {
    await Promise.all([gate.knocked("Ada"), gate.knocked("Bob")]);
    gate.open("Ada", "welcome");
    gate.open("Bob", "welcome");
  };

  test("background: created at once, looked at on the way, retrieved in the end", async () => {
    const client = open();
    const created = await begin(client);
    expect(["queued", "in_progress"]).toContain(created.status);
    await Promise.all([gate.knocked("Ada"), gate.knocked("Bob")]);
    expect(await client.responses.retrieve(created.id)).toMatchObject({
      status: "in_progress",
      background: true,
      completed_at: null,
      output: [
        { type: "reasoning", status: "completed" },
        { type: "message", status: "completed", content: [{ text: "I will knock." }] },
        { type: "mcp_call", status: "in_progress", arguments: '{"who":"Ada"}', output: null },
        { type: "mcp_call", status: "in_progress", arguments: '{"who":"Bob"}', output: null },
      ],
    });
    await letIn();
    const ends = await client.responses.stream({ response_id: created.id }).finalResponse();
    expect(ends).toMatchObject({ status: "completed", output_text: expect.stringContaining("both of them") });
    expect(await client.responses.retrieve(created.id)).toMatchObject({ status: "completed", id: created.id });
  });

  test("looked at while the model writes: what it has written so far", async () => {
    const client = open();
    const { id } = await client.responses.create({ input: "Slowly", ...background });
    const seen: string[] = [];
    const look = async () => {
      const { status, output } = await client.responses.retrieve(id);
      const [message] = output.flatMap((item) => (item.type === "message" ? [item] : []));
      const [part] = message?.content ?? [];
      if (status === "in_progress" && message?.status === "in_progress" && part?.type === "output_text")
        seen.push(part.text);
      expect(new Set(seen).size).toBeGreaterThan(2);
    };
    await vi.waitFor(look, { timeout: 20_000, interval: 20 });
    for (const [index, text] of seen.entries()) {
      expect("I will knock, and then we will see.".startsWith(text)).toBe(true);
      expect(text.startsWith(seen[index - 1] ?? "")).toBe(true);
    }
    expect(await client.responses.cancel(id)).toMatchObject({ status: "cancelled", output: [] });
  });

  test("background and streamed: queued comes between created and in_progress", async () => {
    const client = open();
    const stream = await client.responses.create({ input: "Hello", background: true, stream: true });
    const statuses: unknown[] = [];
    for await (const event of stream) if ("response" in event) statuses.push([event.type, event.response.status]);
    expect(statuses).toEqual([
      ["response.created", "queued"],
      ["response.queued", "queued"],
      ["response.in_progress", "in_progress"],
      ["response.completed", "completed"],
    ]);
  });

  test("starting_after: what comes behind, with the same numbers; the helper filters the same", async () => {
    const client = open();
    const created = await begin(client);
    const behind: number[] = [];
    const stream = await client.responses.retrieve(created.id, { stream: true, starting_after: 3 });
    await letIn();
    for await (const event of stream) behind.push(event.sequence_number);
    expect(behind).toEqual(behind.map((_, index) => index + 4));
    expect(wire.last().path).toContain("starting_after=3");
    const helper = client.responses.stream({ response_id: created.id, starting_after: 3 });
    const filtered: number[] = [];
    for await (const event of helper) filtered.push(event.sequence_number);
    expect(filtered).toEqual(behind);
    expect(await helper.finalResponse()).toMatchObject({ status: "completed" });
  });

  test("called off in the background, and once more: failed with the status cancelled", async () => {
    const client = open();
    const created = await begin(client);
    await Promise.all([gate.knocked("Ada"), gate.knocked("Bob")]);
    const following = client.responses.stream({ response_id: created.id }).finalResponse();
    const cancelled = await client.responses.cancel(created.id);
    expect(cancelled).toMatchObject({ id: created.id, status: "cancelled", error: null, output: [] });
    await Promise.all([gate.left("Ada"), gate.left("Bob")]);
    expect(await client.responses.cancel(created.id)).toMatchObject({ status: "cancelled" });
    expect(await following).toMatchObject({ status: "cancelled" });
    expect(eventsIn(await whole(created.id)).at(-1)).toMatchObject({
      type: "response.failed",
      response: { status: "cancelled", output: [] },
    });
    expect(await client.responses.retrieve(created.id)).toMatchObject({ status: "cancelled", output: [] });
  });

  test("what is over, or not in the background, cannot be called off", async () => {
    const client = open();
    const synchronous = await client.responses.create({ input: "Hello" });
    await expect(client.responses.cancel(synchronous.id)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("Cannot cancel a synchronous response."),
    });
    const { id } = await client.responses.create({ input: "Hello", background: true });
    await client.responses.stream({ response_id: id }).finalResponse();
    await expect(client.responses.cancel(id)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("Cannot cancel a completed response."),
    });
  });

  test("one that runs is deleted: it is called off, and gone", async () => {
    const client = open();
    const { id } = await begin(client);
    await Promise.all([gate.knocked("Ada"), gate.knocked("Bob")]);
    await client.responses.delete(id);
    await Promise.all([gate.left("Ada"), gate.left("Bob")]);
    await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
    await atRest();
  });

  test("one that is not over cannot be gone on from", async () => {
    const client = open();
    const { id } = await begin(client, "Wait");
    await expect(client.responses.create({ input: "Hello", previous_response_id: id })).rejects.toMatchObject({
      status: 400,
      param: "previous_response_id",
    });
    expect(await client.responses.cancel(id)).toMatchObject({ status: "cancelled" });
    expect(await client.responses.create({ input: "Hello", previous_response_id: id })).toMatchObject({
      status: "completed",
      output_text: "Good morning.",
    });
  });

  test("a stream that its caller stops reading is over for the server, too", async () => {
    const client = open();
    const stream = await client.responses.create({ input: "Wait", stream: true });
    for await (const event of stream) if (event.type === "response.output_text.delta") break;
    await atRest();
  });
});

/** What was cut off stays where it was, as far as it came, and says so; what the run said afterwards is whole. */
function expectSaidAgain(output: readonly { readonly type: string }[], events: readonly WireEvent[]): void {
  const messages = output.filter(({ type }) => type === "message") as { type: string; id: string }[];
  expect(messages.at(-1)).toMatchObject({ status: "completed", content: [{ text: "She is in." }] });
  expect(messages.at(-2)).toMatchObject({
    status: "completed",
    content: [{ text: "I will knock, and then we will see." }],
  });
  for (const cut of messages.slice(0, -2)) {
    const deltas = events.filter((event) => event.type === "response.output_text.delta" && event["item_id"] === cut.id);
    const text = deltas.map(({ delta }) => delta).join("");
    expect(cut).toMatchObject({ status: "incomplete", content: [{ text }] });
  }
}

describe.each(["continue", "end"])("kill -9 in the middle, after which runs %s", (afterRestart) => {
  test.each([4, 7, 10, 14])(
    "after %i events: the stream goes on to its end, nothing twice",
    async (seen) => {
      const killed = await makeAgentServer({ script, env: gate.env(), agent: { afterRestart } });
      const urlOf = (id: string, after?: number) =>
        `${killed.url}/v1/responses/${id}?stream=true${after === undefined ? "" : `&starting_after=${after}`}`;
      try {
        await killed.start();
        const asked = post({ input: "Slowly", stream: true, ...background });
        const before = await cutAfter(`${killed.url}/v1/responses`, seen, asked);
        const { id } = eventsIn(before)[0]!["response"] as { id: string };
        await killed.kill();
        await gate.left("Eve");
        // Whatever knocks from now on comes in.
        void gate.knocked("Eve").then(() => gate.open("Eve", "welcome"));
        await killed.start();
        const after = joined(framesIn(await (await fetch(urlOf(id, seen - 1))).text()));
        const events = eventsIn(before + after);
        checkEvents(events);
        expect(isTerminal(events.at(-1)!)).toBe(true);
        expect(joined(framesIn(await (await fetch(urlOf(id))).text()))).toBe(before + after);
        for (const { Client } of sdks) {
          const client = new Client({ baseURL: `${killed.url}/v1`, apiKey: "none", fetch: wire.fetch });
          const ends = await client.responses.stream({ response_id: id }).finalResponse();
          expect(ends.status).toBe(afterRestart === "end" ? "failed" : "completed");
          expect(ends.output).toMatchObject((await client.responses.retrieve(id)).output);
          if (afterRestart === "continue") expectSaidAgain(ends.output, events);
        }
      } finally {
        await killed.remove();
      }
    },
    60_000,
  );
});
