import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { type Environment, loadConfig } from "../../src/config.js";

const directory = mkdtempSync(join(tmpdir(), "heddle-config-"));
afterAll(() => rmSync(directory, { recursive: true }));
const config = join(directory, "heddle.json");

/** As the file refers to a variable. */
const ref = (name: string): string => `\${${name}}`;

const load = (mcpServers: unknown, env: Environment = {}, agent: object = {}) => {
  writeFileSync(config, JSON.stringify({ mcpServers, agent }));
  return loadConfig({ flags: { config }, env }).agent.mcp;
};
const problem = (mcpServers: unknown, env: Environment = {}): string => {
  try {
    load(mcpServers, env);
  } catch (error) {
    return (error as Error).message.replaceAll(config, "FILE");
  }
  throw new Error("the configuration was accepted");
};

describe("mcpServers", () => {
  test("are taken in the form that people have them in", () => {
    const { servers } = load({
      files: { command: "npx", args: ["-y", "server-filesystem", "."], env: { KEY: "value" } },
      github: { type: "http", url: "https://example.com/mcp?key=1", headers: { Authorization: "Bearer x" } },
      old: { command: "old", disabled: true },
    });
    expect(servers).toEqual([
      {
        label: "files",
        place: {
          kind: "program",
          command: "npx",
          args: ["-y", "server-filesystem", "."],
          env: { KEY: "value" },
          cwd: process.cwd(),
        },
        secrets: [],
        policy: undefined,
        startTimeoutMs: 30_000,
        idleTimeoutMs: 120_000,
        timeoutMs: 600_000,
      },
      {
        label: "github",
        place: { kind: "address", url: "https://example.com/mcp?key=1", headers: { Authorization: "Bearer x" } },
        secrets: [],
        policy: undefined,
        startTimeoutMs: 30_000,
        idleTimeoutMs: 120_000,
        timeoutMs: 600_000,
      },
    ]);
  });

  test("have limits and a policy of their own, and a directory that is relative to the file", () => {
    const own = { policy: "deny", startTimeoutMs: 1_000, idleTimeoutMs: 2_000, timeoutMs: 3_000 };
    const { servers } = load({ a: { command: "a", cwd: "below", ...own } });
    expect(servers[0]).toMatchObject({ ...own, place: { cwd: join(directory, "below") } });
  });

  test.each([{ Key: "two\nlines-of-it" }, { Key: "\u6f22\u5b57-of-it" }, { "no name": "value-of-it" }])(
    "have no headers that cannot be sent, and their values are not shown: %j",
    (headers) => {
      const words = problem({ a: { url: "https://example.com/mcp", headers } });
      expect(words).toContain("must be a name and a value that HTTP can send");
      expect(words).not.toContain("of-it");
    },
  );

  test("have headers whose values may end in a new line, as secrets in files do", () => {
    const headers = { Authorization: `Bearer ${ref("TOKEN")}` };
    const { servers } = load({ a: { url: "https://example.com/mcp", headers } }, { TOKEN: "abc\n" });
    expect(servers).toHaveLength(1);
  });

  test("may refer to variables, whose values are secret", () => {
    const { servers } = load(
      {
        a: {
          command: ref("BIN:-node"),
          args: [`--key=${ref("KEY")}`],
          env: { A: ref("KEY"), B: "$KEY" },
          cwd: `${ref("DIR")}/x`,
        },
        b: { url: `https://example.com/${ref("KEY")}/mcp`, headers: { X: `Bearer ${ref("KEY")}` } },
      },
      { KEY: "k-123", DIR: "/srv" },
    );
    expect(servers[0]).toMatchObject({
      place: { command: "node", args: ["--key=k-123"], env: { A: "k-123", B: "$KEY" }, cwd: "/srv/x" },
      secrets: ["k-123", "k-123", "/srv"],
    });
    expect(servers[1]).toMatchObject({
      place: { url: "https://example.com/k-123/mcp", headers: { X: "Bearer k-123" } },
    });
  });

  test.each([
    [{ a: {} }, 'FILE: mcpServers.a must be an object with either "command"'],
    [{ a: { command: "a", url: "http://b" } }, "FILE: mcpServers.a must be an object with either"],
    [{ a: { url: "http://b", env: {} } }, "FILE: mcpServers.a must be an object with either"],
    [{ a: { command: "a", headers: {} } }, "FILE: mcpServers.a must be an object with either"],
    [{ a: { type: "http", command: "a" } }, "FILE: mcpServers.a must be an object with either"],
    [{ a: { type: "sse", url: "http://b" } }, "the older sse is not spoken"],
    [{ a: { command: "a", arg: [] } }, "mcpServers.a.arg is not a known key; known here: command, args, env"],
    [{ a: { url: "ftp://b" } }, "FILE: mcpServers.a.url must be an http or https URL without name and password"],
    [{ a: { url: "http://me:you@b" } }, "without name and password"],
    [{ "a\nb": { command: "a" } }, "by their names, each of 1 to 64 visible characters"],
    [{ "a b": { command: "a" }, a_b: { command: "b" } }, "FILE: mcpServers.a_b is too much like a b"],
    [{ a: { command: "a" }, a__b: { command: "b" } }, "FILE: mcpServers.a__b is too much like a"],
    [
      { a: { command: "a", env: { X: ref("NONE") } } },
      "mcpServers.a.env.X refers to the variable NONE, which is not set: set it",
    ],
    [{ a: { url: `https://${ref("HOST")}/mcp` } }, "mcpServers.a.url refers to the variable HOST, which is not set"],
  ])("%j are refused: %s", (servers, words) => expect(problem(servers)).toContain(words));

  test("show no value in a message", () => {
    expect(problem({ a: { command: "a", env: { KEY: 7_654_321 } } })).not.toContain("7654321");
    expect(problem({ a: { url: "ftp://secret-host" } })).not.toContain("secret-host");
  });
});

describe("agent.mcp", () => {
  test("is closed by default", () => {
    expect(load({})).toEqual({ servers: [], threadServers: false, allowHosts: [] });
  });

  test("opens to servers of threads, and single hosts for them", () => {
    const mcp = { threadServers: true, allowHosts: ["wiki.intranet:8080"] };
    expect(load({}, {}, { mcp })).toEqual({ servers: [], ...mcp });
  });
});
