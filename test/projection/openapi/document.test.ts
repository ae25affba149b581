// The document says what the server does: every golden event, and what a real server answers, is as it says.
import { readdirSync, readFileSync } from "node:fs";
import { Validator } from "@cfworker/json-schema";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compose, type Heddle } from "../../../src/compose.js";
import { defaultConfig } from "../../../src/config.js";
import { services } from "../../../src/projection/connect/routes.js";
import { openApiDocument, openApiText } from "../../../src/projection/openapi/document.js";
import { eventName } from "../../../src/projection/openapi/response-paths.js";
import { eventShapes } from "../../../src/projection/responses/event-shape.js";
import { parseRequest } from "../../../src/projection/responses/request-shape.js";
import { newId } from "../../../src/thread/ids.js";
import { pngBytes, pngUrl } from "../../support/images.js";
import { newDataDir, removeDataDir } from "../../support/server-process.js";

// biome-ignore lint/suspicious/noExplicitAny: a document is looked into as one likes.
const document = openApiDocument() as any;
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const validators = new Map<string, Validator>();

/** What is wrong with the value, by the schema of this name. */
function faults(name: string, value: unknown): string[] {
  const { components } = document;
  const made = validators.get(name) ?? new Validator({ $ref: `#/components/schemas/${name}`, components }, "2020-12");
  validators.set(name, made);
  const { valid, errors } = made.validate(value);
  return valid ? [] : errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);
}

/** The schema of an answer, by the document. */
function schemaOf(path: string, method: string, { status, type }: { status: number; type: string }): string {
  const { responses } = document.paths[path][method];
  const { $ref } = (responses[String(status)] ?? responses.default).content[type].schema;
  return $ref.replace("#/components/schemas/", "");
}

interface SentEvent {
  readonly type: string;
}

const eventsIn = (text: string): SentEvent[] =>
  [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, data]) => JSON.parse(data!) as SentEvent);

describe("the document", () => {
  test("in docs/ is the one that is served", () => {
    expect(readFileSync(new URL("../../../docs/openapi.json", import.meta.url), "utf8")).toBe(openApiText());
  });

  test("refers to nothing that is not there", () => {
    const names = [...openApiText().matchAll(/"\$ref": "#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
    expect(names.filter((name) => !(name! in document.components.schemas))).toEqual([]);
  });

  test("has every RPC that is served, with the words of the schema", () => {
    const rpcs = services.flatMap(({ typeName, methods }) => methods.map(({ name }) => `/${typeName}/${name}`));
    expect(Object.keys(document.paths)).toEqual(expect.arrayContaining(rpcs));
    expect(rpcs.filter((path) => document.paths[path].post.description === "")).toEqual([]);
  });

  test("tells a wrong answer from a right one", () => {
    expect(faults("Model", { id: "a", object: "model", created: 0, owned_by: "heddle" })).toEqual([]);
    expect(faults("Model", { id: "a", object: "model", created: 0 })).not.toEqual([]);
    expect(faults("Model", { id: "a", object: "model", created: 0, owned_by: "heddle", more: 1 })).not.toEqual([]);
    expect(faults("ResponseEvent", { type: "response.trace" })).not.toEqual([]);
  });
});

describe("requests", () => {
  test.each([
    { input: "Hello" },
    { input: [{ role: "user", content: [{ type: "input_image", image_url: pngUrl(), detail: "low" }] }], stream: true },
    { previous_response_id: "resp_1", input: [{ type: "function_call_output", call_id: "call_1", output: "rain" }] },
    { input: "Hello", tools: [{ type: "mcp", server_label: "a", server_url: "https://a.example/mcp" }] },
    { input: "Hello", text: { format: { type: "json_schema", name: "a", schema: {} } } },
  ])("that are taken are as the document says: %j", (request) => {
    expect(faults("CreateResponse", request)).toEqual([]);
    expect(() => parseRequest(JSON.stringify(request))).not.toThrow();
  });

  test.each([
    { input: "Hello", colour: "red" },
    { input: "Hello", temperature: 3 },
    { input: [{ role: "nobody", content: "Hello" }] },
    { input: "Hello", tools: [{ type: "computer_use" }] },
  ])("that are refused are not: %j", (request) => {
    expect(faults("CreateResponse", request)).not.toEqual([]);
    expect(() => parseRequest(JSON.stringify(request))).toThrow();
  });
});

describe("golden events", () => {
  const folder = new URL("../responses/golden/", import.meta.url);
  const files = readdirSync(folder).map((name) => ({ name, text: readFileSync(new URL(name, folder), "utf8") }));

  test.each(files)("of $name are as the document says", ({ text }) => {
    for (const event of eventsIn(text)) expect(faults(eventName(event.type), event), event.type).toEqual([]);
  });

  test("are of every type that the document has, and of no other", () => {
    const seen = new Set(files.flatMap(({ text }) => eventsIn(text).map(({ type }) => type)));
    expect([...seen].sort()).toEqual(Object.keys(eventShapes).sort());
  });
});

describe("a server", () => {
  let heddle: Heddle;
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await newDataDir();
    const agent = { ...defaultConfig.agent, model: "demo:demo" };
    const listen = { host: "127.0.0.1", port: 0 };
    heddle = await compose({ ...defaultConfig, dataDir, listen, agent }, silent);
  });
  afterAll(async () => {
    await heddle.close();
    await removeDataDir(dataDir);
  });

  /** Asks, and holds the answer to the document. */
  async function ask(method: string, path: string, { body, as = path }: { body?: unknown; as?: string } = {}) {
    const answer = await fetch(`${heddle.url}${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    const value = await answer.json();
    const name = schemaOf(as, method.toLowerCase(), { status: answer.status, type: "application/json" });
    expect(faults(name, value), `${method} ${path}: ${answer.status}`).toEqual([]);
    // biome-ignore lint/suspicious/noExplicitAny: an answer is looked into as one likes.
    return value as any;
  }

  const one = "/v1/responses/{id}";

  test("serves the document", async () => {
    expect(await (await fetch(`${heddle.url}/openapi.json`)).text()).toBe(openApiText());
  });

  test("answers with a response, lists its input, and deletes it", async () => {
    const content = [
      { type: "input_text", text: "Hello" },
      { type: "input_image", image_url: pngUrl() },
    ];
    const created = await ask("POST", "/v1/responses", { body: { input: [{ role: "user", content }] } });
    expect(created.status).toBe("completed");
    await ask("GET", `/v1/responses/${created.id}`, { as: one });
    await ask("GET", `/v1/responses/${created.id}/input_items`, { as: `${one}/input_items` });
    await ask("DELETE", `/v1/responses/${created.id}`, { as: one });
    expect(await ask("GET", `/v1/responses/${created.id}`, { as: one })).toHaveProperty("error");
  });

  test("streams events", async () => {
    const body = JSON.stringify({ input: "Hello", stream: true });
    const text = await (await fetch(`${heddle.url}/v1/responses`, { method: "POST", body })).text();
    const events = eventsIn(text);
    expect(events.length).toBeGreaterThan(5);
    const name = schemaOf("/v1/responses", "post", { status: 200, type: "text/event-stream" });
    for (const event of events) expect(faults(name, event), event.type).toEqual([]);
  });

  test("calls off in the background", async () => {
    const created = await ask("POST", "/v1/responses", { body: { input: "Hello", background: true } });
    await ask("POST", `/v1/responses/${created.id}/cancel`, { as: `${one}/cancel` });
  });

  test.each([
    ["an unknown field", { input: "Hello", colour: "red" }, "colour"],
    ["a form that the model cannot give", { input: "Hello", text: { format: { type: "json_object" } } }, "text.format"],
    ["a file", { input: [{ role: "user", content: [{ type: "input_image", file_id: "f" }] }] }, /file_id$/],
  ])("refuses %s by name", async (_, body, param) => {
    const { error } = await ask("POST", "/v1/responses", { body });
    expect(error).toMatchObject({ type: "invalid_request_error", param: expect.stringMatching(param) });
  });

  test("answers for its models, its state and its health", async () => {
    const { data } = await ask("GET", "/v1/models");
    await ask("GET", `/v1/models/${data[0].id}`, { as: "/v1/models/{model}" });
    expect(await ask("GET", "/v1/models/none", { as: "/v1/models/{model}" })).toHaveProperty("error");
    await ask("GET", "/statusz");
    expect((await fetch(`${heddle.url}/healthz`)).status).toBe(200);
  });

  test("answers RPCs in JSON", async () => {
    const rpc = (method: string, body: unknown) => ask("POST", `/heddle.v1.${method}`, { body });
    const { thread } = await rpc("ThreadService/CreateThread", { title: "Looms" });
    const images = [{ data: pngBytes().toString("base64"), mediaType: "image/png", detail: "low" }];
    const { runId } = await rpc("ThreadService/SendMessage", { threadId: thread.id, requestId: newId(), images });
    expect(runId).not.toBe("");
    const path = "/heddle.v1.ThreadService/StreamThreadEvents";
    const name = schemaOf(path, "post", { status: 200, type: "application/connect+json" });
    for (const event of await streamed(`${heddle.url}${path}`, thread.id)) expect(faults(name, event)).toEqual([]);
    await rpc("ThreadService/GetThread", { threadId: thread.id });
    await rpc("ThreadService/ListThreads", {});
    await rpc("ToolService/ListTools", {});
    await rpc("ToolCallService/ListToolCalls", { threadId: thread.id });
    await rpc("DocumentService/ListDocuments", {});
    expect(await rpc("ThreadService/GetThread", { threadId: newId() })).toMatchObject({ code: "not_found" });
    const wrong = [{ data: "AAAA", mediaType: "image/png" }];
    const sent = { threadId: thread.id, requestId: newId(), text: "Go", images: wrong };
    expect(await rpc("ThreadService/SendMessage", sent)).toMatchObject({ code: "invalid_argument" });
  });

  test("describes its errors in the words that the request asks in", async () => {
    expect(await ask("POST", "/heddle.v1.ThreadService/GetThread", { body: { threadId: "x" } })).toHaveProperty("code");
  });
});

test("a server whose operator wants no Responses API has none", async () => {
  const dataDir = await newDataDir();
  const responses = { ...defaultConfig.responses, enabled: false };
  const listen = { host: "127.0.0.1", port: 0 };
  const heddle = await compose({ ...defaultConfig, dataDir, listen, responses }, silent);
  try {
    expect((await fetch(`${heddle.url}/v1/models`)).status).toBe(404);
    const served = await (await fetch(`${heddle.url}/openapi.json`)).text();
    const { paths, components, tags } = JSON.parse(served) as typeof document;
    expect(Object.keys(paths)).toEqual(Object.keys(document.paths).filter((path) => !path.startsWith("/v1")));
    expect(tags).not.toContainEqual(expect.objectContaining({ name: "Responses" }));
    expect(served).not.toMatch(/Responses API|\/v1\//);
    // Everything that it refers to is there, and nothing that only the API has.
    const names = new Set([...served.matchAll(/"\$ref": "#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name));
    expect([...names].filter((name) => !(name! in components.schemas))).toEqual([]);
    expect(
      Object.keys(components.schemas).filter((name) => /Item|Response.*Event$|^CreateResponse$/.test(name)),
    ).toEqual([]);
  } finally {
    await heddle.close();
    await removeDataDir(dataDir);
  }
});

/** The events of a thread to the end of its run, as Connect streams JSON. */
async function streamed(url: string, threadId: string): Promise<unknown[]> {
  const message = Buffer.from(JSON.stringify({ threadId, follow: true }));
  const body = Buffer.concat([Buffer.alloc(5), message]);
  body.writeUInt32BE(message.length, 1);
  const stop = new AbortController();
  const headers = { "content-type": "application/connect+json" };
  const answer = await fetch(url, { method: "POST", body, headers, signal: stop.signal });
  const events: Record<string, unknown>[] = [];
  let rest = Buffer.alloc(0);
  for await (const piece of answer.body!) {
    rest = Buffer.concat([rest, piece]);
    for (; rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1); rest = rest.subarray(5 + rest.readUInt32BE(1)))
      events.push(JSON.parse(rest.subarray(5, 5 + rest.readUInt32BE(1)).toString()));
    if (events.some((event) => "runCompleted" in event)) break;
  }
  stop.abort();
  return events;
}
