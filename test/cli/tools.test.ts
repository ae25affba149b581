import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromJsonString } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ToolKind, ToolPolicy } from "../../gen/heddle/v1/tool_call_pb.js";
import { type Tool, ToolSchema } from "../../gen/heddle/v1/tool_service_pb.js";
import { heddleError } from "../../src/client/resumable.js";
import { silence } from "../client/support.js";
import { oddServer } from "../support/mcp/servers.js";
import { newDataDir, removeDataDir, startServerProcess } from "../support/server-process.js";
import { type FakeIo, fakeIo, fakeServer, heddle } from "./support.js";

const sandbox = "bubblewrap: no network, read-only system, writable workspace";
const offered: readonly Tool[] = [
  { name: "read_file", title: "Read file", kind: ToolKind.READ, policy: ToolPolicy.ALLOW },
  { name: "run_command", title: "Run a command", kind: ToolKind.EXECUTE, policy: ToolPolicy.ASK, isolation: sandbox },
  { name: "search", title: "見つける\u001b[2J", kind: ToolKind.SEARCH, policy: ToolPolicy.DENY, isolation: sandbox },
].map((fields) => create(ToolSchema, { ...fields, source: { source: { case: "builtIn", value: {} } } }));

const serving = (tools: readonly Tool[]) => fakeServer({}, {}, { listTools: () => ({ tools: [...tools] }) });

describe("heddle tools, of a server", () => {
  test("lists them in columns, and below them how what they start is held in", async () => {
    await using server = await serving(offered);
    expect(await heddle(["tools", "--server", server.url])).toEqual({
      code: 0,
      stdout: `NAME         TITLE              KIND     SOURCE    POLICY
read_file    Read file          read     built-in  allow
run_command  Run a command      execute  built-in  ask
search       見つける\\u{1b}[2J  search   built-in  deny

ISOLATION
  run_command, search: ${sandbox}
`,
      stderr: "",
    });
  });

  test("says where a tool comes from", async () => {
    const label = { serverLabel: "docs\n", toolName: "find" };
    const tools = [
      create(ToolSchema, { name: "a", source: { source: { case: "mcp", value: label } } }),
      create(ToolSchema, { name: "b", source: { source: { case: "client", value: { name: "editor" } } } }),
      create(ToolSchema, { name: "c" }),
    ];
    await using server = await serving(tools);
    const { stdout } = await heddle(["tools", "--server", server.url]);
    expect(stdout.split("\n").slice(1, 4)).toEqual([
      "a            unknown  MCP docs\\n     unknown",
      "b            unknown  client editor  unknown",
      "c            unknown  built-in       unknown",
    ]);
  });

  test("--json prints a message a line, as the server sent it", async () => {
    await using server = await serving(offered);
    const { stdout } = await heddle(["tools", "--json", "--server", server.url]);
    expect(
      stdout
        .trimEnd()
        .split("\n")
        .map((line) => fromJsonString(ToolSchema, line)),
    ).toEqual(offered);
  });

  test.each([
    [58, "NAME TITLE KIND SOURCE POLICY"],
    [57, "NAME TITLE KIND POLICY"],
    [47, "NAME KIND POLICY"],
    [28, "NAME KIND POLICY"],
    [27, "NAME POLICY"],
  ])("a terminal of %d columns gets those that fit", async (columns, headings) => {
    const title = "A title of 18 char";
    const tools = offered.map((tool) => ({ ...tool, title }));
    await using server = await serving(tools);
    const io = fakeIo({ isTTY: true, columns, env: { NO_COLOR: "1" } });
    const { stdout } = await heddle(["tools", "--server", server.url], io);
    const [table] = stdout.split("\n\n");
    expect(table!.split("\n")[0]!.split(/ +/).join(" ")).toBe(headings);
    for (const line of table!.split("\n")) expect(line.length).toBeLessThanOrEqual(columns);
    // What is promised is never cut.
    expect(stdout).toContain(sandbox);
  });

  test("a terminal that is too narrow for two columns cuts them, and shows that", async () => {
    await using server = await serving(offered);
    const io = fakeIo({ isTTY: true, columns: 10, env: { NO_COLOR: "1" } });
    const { stdout } = await heddle(["tools", "--server", server.url], io);
    expect(stdout.split("\n").slice(0, 4)).toEqual(["NAME     …", "read_file…", "run_comma…", "search   …"]);
  });

  test("asks with the token", async () => {
    await using server = await serving([]);
    await heddle(["tools", "--server", server.url, "--token", "a-token-of-16-characters"]);
    await heddle(["tools"], fakeIo({ env: { HEDDLE_SERVER: server.url, HEDDLE_TOKEN: "another-of-16-characters" } }));
    expect(server.authorizations).toEqual(["Bearer a-token-of-16-characters", "Bearer another-of-16-characters"]);
  });

  test.each([
    [Code.Unauthenticated, "TOKEN_MISSING", 5],
    [Code.ResourceExhausted, "TOO_MANY", 1],
  ])("ends as the other commands do for %d", async (code, reason, exitCode) => {
    const listTools = () => {
      throw heddleError(code, reason, "no");
    };
    await using server = await fakeServer({}, {}, { listTools });
    expect(await heddle(["tools", "--server", server.url])).toMatchObject({ code: exitCode, stdout: "" });
  });

  test("nobody there: 4", async () => {
    const { url } = await (async () => {
      await using gone = await serving([]);
      return gone;
    })();
    expect(await heddle(["tools", "--server", url])).toMatchObject({ code: 4, stdout: "" });
  });

  test("Ctrl-C while it waits for an answer ends it quietly", async () => {
    const io = fakeIo();
    const listTools = (_: unknown, context: Parameters<typeof silence>[0]) => {
      io.signal("SIGINT");
      return silence(context);
    };
    await using server = await fakeServer({}, {}, { listTools });
    expect(await heddle(["tools", "--server", server.url], io)).toEqual({ code: 130, stdout: "", stderr: "" });
  });
});

describe("heddle tools, without a server", () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "heddle-tools-"));
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  /** The usual data directory is one where nothing is. */
  const io = (env: Record<string, string> = {}): FakeIo => fakeIo({ env: { HEDDLE_DATA: join(dir, "data"), ...env } });
  const list = async (args: readonly string[], own = io()) => {
    const { code, stdout } = await heddle(["tools", "--json", ...args], own);
    expect(code).toBe(0);
    return stdout
      .trimEnd()
      .split("\n")
      .map((line) => fromJsonString(ToolSchema, line));
  };
  const settings = async (agent: object): Promise<string> => {
    const path = join(dir, "heddle.json");
    await writeFile(path, JSON.stringify({ agent }));
    return path;
  };

  test("says what would be offered, and touches no data", async () => {
    const tools = await list([]);
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["clarify", "think"]));
    expect(tools.map(({ name }) => name)).not.toContain("list_directory");
    expect(existsSync(join(dir, "data"))).toBe(false);
  });

  test("says how to see the tools that need a workspace", async () => {
    expect(await heddle(["tools"], io())).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^think +Think +think +built-in +allow$/m),
      stderr:
        "There is no workspace: tools for files and commands are not offered. Give --workspace DIR to see them.\n",
    });
    expect(await heddle(["tools", "--workspace", dir], io())).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^list_directory +List directory +read +built-in +allow$/m),
      stderr: "",
    });
  });

  test.each([
    ["the flag", () => list(["--workspace", dir])],
    ["the variable", () => list([], io({ HEDDLE_WORKSPACE: dir }))],
    ["the file", async () => list(["--config", await settings({ workspace: dir })])],
  ])("takes the workspace from %s", async (_, listed) => {
    expect((await listed()).map(({ name }) => name)).toContain("list_directory");
  });

  test("says the policy of the configuration", async () => {
    const config = await settings({ policy: { think: "deny", clarify: "ask" } });
    const policies = new Map((await list(["--config", config])).map(({ name, policy }) => [name, policy]));
    expect([policies.get("think"), policies.get("clarify")]).toEqual([ToolPolicy.DENY, ToolPolicy.ASK]);
  });

  test("a policy for a tool that is not there is refused: a slip would allow what is to be denied", async () => {
    const slip = await settings({ policy: { run_comand: "deny" } });
    const { code, stderr } = await heddle(["tools", "--config", slip]);
    expect(code).not.toBe(0);
    expect(stderr).toContain("agent.policy: there is no tool run_comand; the tools are ");
    const right = await settings({ policy: { web_search: "deny", run_command: "deny" } });
    expect(await heddle(["tools", "--config", right])).toMatchObject({ code: 0 });
  });

  test("a policy for an MCP server that is not there is refused too", async () => {
    const path = join(dir, "mcp.json");
    const write = (policy: object) =>
      writeFile(path, JSON.stringify({ agent: { policy }, mcpServers: { github: { command: "true" } } }));
    await write({ "mcp__githb__*": "deny" });
    const { code, stderr } = await heddle(["tools", "--config", path]);
    expect(code).not.toBe(0);
    expect(stderr).toContain(
      "there is no MCP server for mcp__githb__*; the names of their tools begin with mcp__github__",
    );
    await write({ "mcp__github__*": "deny", mcp__github__createIssue: "ask" });
    expect(await heddle(["tools", "--config", path])).toMatchObject({ code: 0 });
  });

  test("lists MCP servers, and asks them only when told to", async () => {
    const path = join(dir, "servers.json");
    const mcpServers = { odd: oddServer(), gone: { command: "no-such-program" } };
    await writeFile(path, JSON.stringify({ mcpServers, agent: { policy: { "mcp__odd__*": "deny" } } }));
    const { stdout } = await heddle(["tools", "--config", path], io());
    expect(stdout).toContain(`
MCP SERVERS
  gone: idle, asked for its tools by the first run that needs it
  odd: idle, asked for its tools by the first run that needs it
`);
    const { stdout: connected } = await heddle(["tools", "--config", path, "--connect"], io());
    expect(connected).toMatch(/^mcp__odd__echo +Echo +read +MCP odd +deny$/m);
    expect(connected).toMatch(/^ {2}gone: down, there is no program no-such-program/m);
    expect(connected).toMatch(/^ {2}odd: ready, \d+ tools \(odd 1\.2\.3\)$/m);
  });

  test("lists the tools of modules, whatever they print", async () => {
    const module = join(dir, "shout.mjs");
    const zod = import.meta.resolve("zod");
    await writeFile(
      module,
      `import { z } from ${JSON.stringify(zod)};
       globalThis.heddleTestPrints("loading");
       export default { name: "shout", title: "Shout", description: "Shouts.", kind: "execute", isolation: "none: it shouts",
         input: z.object({}), output: z.object({}), describe: () => "Shouting", run: async () => ({ result: {}, summary: "" }) };`,
    );
    const own = io();
    // What `console.log` is to a real process.
    Object.assign(globalThis, { heddleTestPrints: own.prints });
    const [, shout] = (await list(["--config", await settings({ tools: [module] })], own)).filter(
      ({ name }) => name >= "inform_user",
    );
    expect(shout).toMatchObject({ name: "shout", policy: ToolPolicy.ASK, isolation: "none: it shouts" });
    expect(JSON.parse(shout!.inputSchemaJson)).toMatchObject({ type: "object" });
    expect(own.stderr.text).toBe("loading\n");
  });

  test("does not need the model that the server would ask", async () => {
    expect((await list(["--config", await settings({ model: "openai:gpt-4o-mini" })])).length).toBeGreaterThan(0);
  });

  test.each([
    [["--workspace", "/no/such/directory"], 2, "--workspace: there is no directory /no/such/directory"],
    [["--config", "/no/such/file"], 2, "/no/such/file"],
    [["--nonsense"], 2, "unknown option"],
    [["--server", "http://127.0.0.1:1", "--workspace", "."], 2, "cannot be used with option"],
  ])("refuses %j", async (args, code, words) => {
    expect(await heddle(["tools", ...args], io())).toMatchObject({ code, stderr: expect.stringContaining(words) });
  });

  test("HEDDLE_SERVER and settings cannot stand together", async () => {
    const own = io({ HEDDLE_SERVER: "http://127.0.0.1:1" });
    const { code, stderr } = await heddle(["tools", "--workspace", dir], own);
    expect(code).toBe(2);
    expect(stderr).toContain("--workspace cannot be used with one");
  });

  test("a module that cannot be loaded is said", async () => {
    const config = await settings({ tools: ["none.mjs"] });
    const { code, stderr } = await heddle(["tools", "--config", config], io());
    expect(code).toBe(1);
    expect(stderr).toContain("there is no such file");
  });
});

test("the server that holds the data directory is asked, and settings of the command line are not its own", async () => {
  const dataDir = await newDataDir();
  const server = await startServerProcess({ dataDir, args: ["--workspace", dataDir] });
  const io = () => fakeIo({ env: { HEDDLE_DATA: dataDir } });
  try {
    const found = await heddle(["tools"], io());
    expect(found).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("list_directory") });
    expect(found).toEqual(await heddle(["tools", "--server", server.url]));
    const config = join(dataDir, "heddle.json");
    await writeFile(config, "{}");
    expect((await heddle(["tools", "--config", config], io())).stdout).not.toContain("list_directory");
  } finally {
    await server.stop();
    await removeDataDir(dataDir);
  }
});
