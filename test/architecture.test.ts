// The import table of ARCHITECTURE.md, enforced. A folder that imports what it may not is a red test, not a review remark.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");

/** Who may import what, inside the project. A name is a folder or a file of src/, or gen. Own files are always allowed. */
const table: Readonly<Record<string, readonly string[]>> = {
  thread: ["gen"],
  log: ["thread"],
  model: ["thread"],
  tool: ["thread"],
  documents: ["thread", "log", "tool"],
  recorder: ["thread", "log"],
  stream: ["thread", "log"],
  server: ["thread"],
  config: ["thread"],
  "config.ts": ["thread", "config"],
  loop: ["thread", "log", "model", "tool", "recorder"],
  "request-fields.ts": ["thread", "log"],
  "brought-servers.ts": ["thread", "tool"],
  "show-thread.ts": ["thread", "log", "recorder"],
  "threads.ts": [
    "thread",
    "log",
    "tool",
    "recorder",
    "loop",
    "stream",
    "request-fields.ts",
    "brought-servers.ts",
    "show-thread.ts",
  ],
  "tool-calls.ts": ["thread", "log", "recorder", "loop", "request-fields.ts"],
  "executor-calls.ts": ["thread", "log", "tool", "loop", "tool-calls.ts"],
  "tool-offers.ts": ["thread", "log", "tool", "recorder", "stream", "request-fields.ts"],
  "answer-waiting.ts": ["thread", "recorder", "loop"],
  "responses.ts": [
    "thread",
    "log",
    "tool",
    "recorder",
    "loop",
    "threads.ts",
    "request-fields.ts",
    "brought-servers.ts",
    "answer-waiting.ts",
  ],
  "response-bodies.ts": ["thread", "log", "recorder", "loop", "request-fields.ts", "projection/responses"],
  "document-uploads.ts": ["thread"],
  "folder-files.ts": ["tool", "documents"],
  "projection/connect": [
    "thread",
    "threads.ts",
    "request-fields.ts",
    "tool-calls.ts",
    "executor-calls.ts",
    "tool-offers.ts",
    "documents",
    "document-uploads.ts",
    "server",
    "gen",
  ],
  "projection/responses": ["thread", "brought-servers.ts", "responses.ts", "server"],
  "projection/openapi": ["projection/responses", "server", "gen"],
  client: ["gen"],
  executor: ["thread", "tool", "loop", "client", "gen"],
  cli: ["compose.ts", "compose-executor.ts", "config.ts", "executor", "folder-files.ts", "client", "gen", "thread"],
  "compose-executor.ts": ["config.ts", "executor", "tool"],
  "compose-agent.ts": ["config.ts", "thread", "log", "model", "tool", "loop", "recorder"],
  "compose-core.ts": [
    "compose-agent.ts",
    "config.ts",
    "thread",
    "log",
    "recorder",
    "stream",
    "server",
    "threads.ts",
    "tool-calls.ts",
    "executor-calls.ts",
    "tool-offers.ts",
    "responses.ts",
    "response-bodies.ts",
  ],
  "compose-server.ts": [
    "compose-core.ts",
    "config.ts",
    "thread",
    "tool",
    "server",
    "projection/connect",
    "projection/responses",
    "projection/openapi",
  ],
  "compose.ts": [
    "compose-agent.ts",
    "compose-core.ts",
    "compose-server.ts",
    "config.ts",
    "thread",
    "log",
    "tool",
    "documents",
    "recorder",
    "server",
    "threads.ts",
    "tool-calls.ts",
    "document-uploads.ts",
  ],
};

/** Packages that belong to one part: a store's driver must not leak into the rest. */
const packageOwners: Readonly<Record<string, readonly string[]>> = {
  lmdb: ["log"],
  commander: ["cli"],
  pino: ["cli"],
  zod: ["config", "tool", "projection/responses", "projection/openapi"],
  "@modelcontextprotocol/sdk": ["tool"],
  "@cfworker/json-schema": ["tool"],
  openai: ["model"],
  "@anthropic-ai/sdk": ["model"],
  "@connectrpc/connect-node": ["projection/connect", "cli"],
};

const files = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".ts"))
  .map((path) => path.replaceAll("\\", "/"));

const partOf = (path: string): string =>
  path.split("/")[0] === "gen"
    ? "gen"
    : (Object.keys(table)
        .filter((part) => path === part || path.startsWith(`${part}/`))
        .sort((a, b) => b.length - a.length)[0] ?? path);

function importsOf(path: string): string[] {
  const text = readFileSync(join(root, "src", path), "utf8");
  return [
    ...text.matchAll(
      /(?:^|\n)\s*(?:import|export)\b[^;]*?from\s+"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)|(?:^|\n)import\s+"([^"]+)"/g,
    ),
  ].map(([, from, dynamic, bare]) => from ?? dynamic ?? bare ?? "");
}

/** A relative import as a path from src/, or as gen/… */
function resolved(path: string, specifier: string): string {
  const absolute = join(root, "src", dirname(path), specifier).replace(/\.js$/, ".ts");
  const fromSource = relative(join(root, "src"), absolute).replaceAll("\\", "/");
  return fromSource.startsWith("../gen/") ? fromSource.slice(3) : fromSource;
}

describe("the import table", () => {
  test("every file belongs to a part of the table", () => {
    expect(files.filter((path) => !(partOf(path) in table))).toEqual([]);
  });

  test.each(Object.entries(table))("%s imports only what it may", (part, allowed) => {
    const wrong = files
      .filter((path) => partOf(path) === part)
      .flatMap((path) =>
        importsOf(path)
          .filter((specifier) => specifier.startsWith("."))
          .map((specifier) => partOf(resolved(path, specifier)))
          .filter((imported) => imported !== part && !allowed.includes(imported))
          .map((imported) => `${path} imports ${imported}`),
      );
    expect(wrong).toEqual([]);
  });

  test.each(Object.entries(packageOwners))("package %s stays in its part", (name, owners) => {
    const users = files
      .filter((path) => importsOf(path).some((specifier) => specifier === name || specifier.startsWith(`${name}/`)))
      .filter((path) => !owners.includes(partOf(path)));
    expect(users).toEqual([]);
  });

  test("the MCP SDK stays behind the session that is Heddle's own", () => {
    const users = files.filter((path) =>
      importsOf(path).some((specifier) => specifier.startsWith("@modelcontextprotocol/")),
    );
    expect(users.every((path) => /^tool\/mcp\/sdk-[a-z-]+\.ts$/.test(path))).toBe(true);
    const openers = files.filter((path) => importsOf(path).some((specifier) => /\/sdk-session\.js$/.test(specifier)));
    expect(openers).toEqual(["tool/mcp/open-place.ts"]);
  });

  test("the table in ARCHITECTURE.md is this one", () => {
    const document = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
    const rows = new Map(
      [...document.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)].map(([, part, allowed]) => [
        part,
        [...(allowed ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name),
      ]),
    );
    for (const [part, allowed] of Object.entries(table)) expect(rows.get(part), part).toEqual(allowed);
  });
});
