// The built command with a scripted model: a search and a page from a server on this machine, and nothing else of it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newDataDir, removeDataDir } from "../support/server-process.js";
import { LocalServer } from "../tool/web/support.js";

const command = join(import.meta.dirname, "../../dist/src/cli/main.js");
const key = "BSA-0123456789-abcdefghij";

let dir: string;
beforeEach(async () => {
  dir = await newDataDir();
});
afterEach(() => removeDataDir(dir));

interface JsonEvent {
  readonly toolCallProgress?: { readonly phase?: string };
  readonly toolCallComplete?: { readonly toolCallId: string; readonly outcome: string; readonly summary: string };
}

async function heddle(...args: string[]): Promise<string> {
  const child = spawn(process.execPath, [command, ...args, "--data", join(dir, "data")], {
    cwd: dir,
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], BRAVE_API_KEY: key },
  });
  const [stdout] = await Promise.all([text(child.stdout), once(child, "exit")]);
  return stdout;
}

/** The events of a run in which the model makes these calls, one after another. */
async function runOf(calls: readonly object[], web: object): Promise<JsonEvent[]> {
  const [model, config] = [join(dir, "model.json"), join(dir, "heddle.json")];
  const replies = [...calls.map((toolCall) => ({ events: [{ toolCall }] })), { events: [{ text: "Done." }] }];
  writeFileSync(model, JSON.stringify({ replies }));
  writeFileSync(config, JSON.stringify({ agent: { web } }));
  const stdout = await heddle("run", "Go", "--json", "--yes", "--config", config, "--model", `scripted:${model}`);
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonEvent);
}

test("searches and fetches where it may, says so, and stores no key", async () => {
  const asked: unknown[] = [];
  await using server = await LocalServer.start((request, response) => {
    asked.push(request.headers["x-subscription-token"]);
    if (!request.url!.startsWith("/res/")) {
      response.writeHead(200, { "content-type": "text/html" }).end("<title>A page</title><p>Its text.");
      return;
    }
    const results = [{ title: "A page", url: "https://a.example/", description: `It repeats ${key} to everyone` }];
    response.end(JSON.stringify({ type: "search", web: { results } }));
  });
  const events = await runOf(
    [
      { name: "web_search", input: { query: "a page" } },
      { name: "web_fetch", input: { url: `http://${server.host}/page` } },
      { name: "web_fetch", input: { url: "http://169.254.169.254/latest/meta-data/" } },
    ],
    { search: { backend: "brave", url: `http://${server.host}` }, allowHosts: [server.host] },
  );

  const ended = events.flatMap(({ toolCallComplete }) => toolCallComplete ?? []);
  expect(ended).toMatchObject([
    { outcome: "TOOL_CALL_OUTCOME_SUCCEEDED", summary: "Found 1 result" },
    { outcome: "TOOL_CALL_OUTCOME_SUCCEEDED", summary: `Received 33 bytes (200 OK) from ${server.host}` },
    { summary: expect.stringContaining("169.254.169.254 is not on the public internet") },
  ]);
  const phases = events.flatMap(({ toolCallProgress }) => toolCallProgress?.phase ?? []);
  expect(phases[0]).toBe("TOOL_CALL_PHASE_SEARCHING");
  expect(phases).toContain("TOOL_CALL_PHASE_CONNECTING");
  expect(asked).toEqual([key, undefined]);

  const result = await heddle("call", ended[0]!.toolCallId, "--content", "result");
  expect(JSON.parse(result)).toMatchObject({ results: [{ snippet: "It repeats [redacted] to everyone" }] });
  expect(await heddle("call", ended[1]!.toolCallId, "--content", "page")).toBe("Its text.");
});
