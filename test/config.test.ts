import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { defaultTimes } from "../src/config/mcp.js";
import { configKeys } from "../src/config/schema.js";
import { type ConfigFlags, defaultConfig, type Environment, FlagProblem, loadConfig } from "../src/config.js";
import { HeddleError } from "../src/thread/errors.js";

const directory = mkdtempSync(join(tmpdir(), "heddle-config-"));
afterAll(() => rmSync(directory, { recursive: true }));

let files = 0;
function file(content: unknown): string {
  const path = join(directory, `${files++}.json`);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const load = (flags: ConfigFlags = {}, env: Environment = {}) => loadConfig({ flags, env });

function refusal(flags: ConfigFlags, env: Environment = {}): HeddleError<"invalid_config"> {
  try {
    load(flags, env);
  } catch (reason) {
    if (reason instanceof HeddleError && reason.code === "invalid_config") {
      return reason as HeddleError<"invalid_config">;
    }
    throw reason;
  }
  throw new Error("the configuration was accepted");
}

const refusedFile = (content: unknown, env: Environment = {}) => {
  const config = file(content);
  const { message } = refusal({ config }, env);
  return message.replaceAll(config, "FILE");
};

const longToken = "0123456789abcdef";

describe("sources", () => {
  test("with nothing said, the defaults apply", () => {
    expect(load()).toEqual({ ...defaultConfig, dataDir: resolve(".heddle") });
  });

  test("the file is known by its absolute path", () => {
    const config = file({});
    expect(load({ config: relative(process.cwd(), config) }).configFile).toBe(config);
  });

  test("a flag beats a variable, a variable beats the file, the file beats the default", () => {
    const config = file({ listen: "127.0.0.1:1", data: "/file", logLevel: "warn", timing: { drainMs: 7 } });
    const env = { HEDDLE_LISTEN: "127.0.0.1:2", HEDDLE_DATA: "/env" };
    expect(load({ config, listen: "127.0.0.1:3" }, env)).toMatchObject({
      listen: { port: 3 },
      dataDir: "/env",
      logLevel: "warn",
      timing: { ...defaultConfig.timing, drainMs: 7 },
    });
  });

  test("the result is frozen all the way down", () => {
    const config = load({ config: file({ tokens: [{ name: "a", token: longToken }] }) });
    expect(Object.isFrozen(config)).toBe(true);
    expect(Object.isFrozen(config.tokens[0])).toBe(true);
    expect(Object.isFrozen(config.timing)).toBe(true);
  });

  test("paths in the file are relative to the file, paths in flags to the working directory", () => {
    const config = file({ data: "here", tls: { certFile: "c.pem", keyFile: "/k.pem" } });
    expect(load({ config })).toMatchObject({
      dataDir: join(directory, "here"),
      tls: { certFile: join(directory, "c.pem"), keyFile: "/k.pem" },
    });
    expect(load({ config, data: "there" }).dataDir).toBe(resolve("there"));
  });

  test("an empty variable counts as one that is not set, an empty token is refused", () => {
    expect(load({}, { HEDDLE_LISTEN: "", HEDDLE_DATA: "" }).listen).toEqual(defaultConfig.listen);
    expect(refusal({}, { HEDDLE_TOKEN: "" }).message).toContain("HEDDLE_TOKEN must be 16 to 512 characters");
  });

  test("take-over is a flag only", () => {
    expect(load({ takeOver: true }).takeOver).toBe(true);
    expect(load().takeOver).toBe(false);
    expect(refusedFile({ takeOver: true })).toContain("takeOver is not a known key");
  });
});

describe("listen", () => {
  test.each([
    ["127.0.0.1:0", "127.0.0.1", 0],
    ["localhost:65535", "localhost", 65535],
    ["[::1]:0", "::1", 0],
  ])("%s is %s, port %d", (listen, host, port) => {
    expect(load({ listen }).listen).toEqual({ host, port });
  });

  test.each([
    "",
    "8787",
    ":8787",
    "localhost",
    "::1:80",
    "[::1]",
    "[1.2.3.4]:1",
    "1.2.3:80",
    "a:65536",
    "a:-1",
    "http://a:1",
  ])("%j is refused with the flag's name and the right form", (listen) => {
    expect(refusal({ listen }).message).toMatch(/^--listen must be host:port, such as .*, not "/);
  });
});

describe("problems", () => {
  test("all of them are named at once, each with its source", () => {
    const config = file({ limits: { connections: 0, conections: 1 }, color: true });
    const error = refusal({ config, logLevel: "loud" }, { HEDDLE_LISTEN: "nowhere" });
    const texts = (error.cause as AggregateError).errors.map((each: Error) => each.message.replace(config, "FILE"));
    expect(texts).toEqual([
      "FILE: limits.connections must be a whole number from 1 to 1000000, not 0",
      "FILE: limits.conections is not a known key; known here: connections, streamsPerConnection, messageBytes, headerBytes",
      expect.stringContaining("FILE: color is not a known key; known here: listen, data,"),
      expect.stringMatching(/^HEDDLE_LISTEN must be host:port, .*, not "nowhere"$/),
      '--log-level must be one of trace, debug, info, warn, error, fatal, silent, not "loud"',
    ]);
    for (const text of texts) expect(error.message.replaceAll(config, "FILE")).toContain(text);
    expect(error.message).not.toContain("\n");
    expect(error.detail.field).toBe("limits.connections");
  });

  test("those of the command line are told from the others", () => {
    const kinds = (error: HeddleError) =>
      (error.cause as AggregateError).errors.map((each) => each instanceof FlagProblem);
    expect(kinds(refusal({ config: file({ color: true }), data: "" }, { HEDDLE_LISTEN: "x" }))).toEqual([
      false,
      false,
      true,
    ]);
    expect(kinds(refusal({ config: join(directory, "none.json") }))).toEqual([true]);
    expect(kinds(refusal({ config: file("{") }))).toEqual([false]);
    expect(kinds(refusal({ config: file(" ".repeat(1024 * 1024 + 1)) }))).toEqual([false]);
  });

  test("one mistake is one problem", () => {
    const error = refusal({ config: file({ limits: { connections: -1.5 } }) });
    expect((error.cause as AggregateError).errors).toHaveLength(1);
  });

  test.each([
    ['{\n  "listen": x\n}', "FILE:2:13: this is not JSON; expected a value"],
    ['{"a": 1,}', "FILE:1:9: this is not JSON; expected a key in double quotes"],
    ['{"a": 1 "b": 2}', "FILE:1:9: this is not JSON; expected , or }"],
    ['{"a": [1, 2}', "FILE:1:12: this is not JSON; expected , or ]"],
    ['{"a" 1}', "FILE:1:6: this is not JSON; expected a colon"],
    ['{"a": "b\n"}', "FILE:1:7: this is not JSON; expected text that ends"],
    ['{"a": 01}', "FILE:1:8: this is not JSON; expected , or }"],
    ["// hello\n{}", "FILE:1:1: this is not JSON; expected a value"],
    ["{}\n{}", "FILE:2:1: this is not JSON; expected the end of the file"],
    ["", "FILE:1:1: this is not JSON; expected a value"],
  ])("a broken file %j says where and what was expected", (content, message) => {
    expect(refusedFile(content)).toContain(message);
  });

  test("the syntax check and JSON.parse agree on what is JSON", () => {
    const texts = ["{}", "[]", " null ", "-0.5e+3", '"\\u00e9\\n\\/"', '{"a":{"b":[true,false,null,{}]}}', "\uFEFF{}"];
    for (const text of texts) expect(refusedOrNot(text)).not.toContain("not JSON");
    for (const text of ["{a:1}", "[1,]", "+1", "1.", "'a'", "nul", '"\\x"', "[".repeat(100)]) {
      expect(refusedOrNot(text)).toContain("not JSON");
    }
  });

  test("a file that is not there, or is a directory", () => {
    expect(refusal({ config: join(directory, "none.json") }).message).toContain("none.json: there is no such file");
    expect(refusal({ config: directory }).message).toContain("it is a directory");
  });

  test("half of a TLS pair", () => {
    expect(refusal({}, { HEDDLE_TLS_CERT: "c.pem" }).message).toBe(
      "HEDDLE_TLS_CERT is set but tls.keyFile is not: TLS needs both, or neither",
    );
    const config = file({ tls: { keyFile: "k.pem" } });
    expect(load({ config }, { HEDDLE_TLS_CERT: "c.pem" }).tls).toEqual({
      certFile: resolve("c.pem"),
      keyFile: join(directory, "k.pem"),
    });
  });

  test.each(["*", "https://*.example", "a.example", "https://a.example/path"])("%s is not an origin", (origin) => {
    expect(refusedFile({ allowedOrigins: [origin] })).toContain("allowedOrigins[0] must be an origin such as");
  });
});

describe("tokens", () => {
  test("come from the file, from variables that the file names, or from HEDDLE_TOKEN alone", () => {
    const config = file({
      tokens: [
        { name: "a", token: longToken },
        { name: "b", tokenEnv: "B_TOKEN" },
      ],
    });
    expect(load({ config }, { B_TOKEN: "fedcba9876543210" }).tokens).toEqual([
      { name: "a", token: longToken },
      { name: "b", token: "fedcba9876543210" },
    ]);
    expect(load({ config }, { HEDDLE_TOKEN: "another-long-token" }).tokens).toEqual([
      { name: "env", token: "another-long-token" },
    ]);
  });

  test.each([
    [[{ name: "a", token: "short-secret" }], {}],
    [[{ name: "a", token: "with space in short-secret" }], {}],
    [["short-secret"], {}],
    [[{ name: "a", token: longToken, tokenEnv: "X", more: "short-secret" }], { X: "short-secret" }],
    [[{ name: "a", tokenEnv: "X" }], { X: "short-secret" }],
    [[{ name: "a", tokenEnv: "MISSING" }], {}],
    [
      [
        { name: "a", token: longToken },
        { name: "a", token: `${longToken}2` },
      ],
      {},
    ],
    [
      [
        { name: "a", token: longToken },
        { name: "b", token: longToken },
      ],
      {},
    ],
    [[{ token: longToken }], {}],
  ])("%j is refused, and no token is shown", (tokens, env: Environment) => {
    const message = refusedFile({ tokens }, env);
    expect(message).toContain("FILE: tokens[");
    expect(message).not.toContain("short-secret");
    expect(message).not.toContain(longToken);
  });

  test("a token or secret in a broken file is not shown", () => {
    expect(refusedFile(`{"tokens": [{"name": "a", "token": "${longToken}" oops}]}`)).not.toContain(longToken);
    expect(refusedFile({ secrets: ["hunter2"] })).toBe("FILE: secrets[0] must be text of at least 8 characters");
    expect(refusal({}, { HEDDLE_TOKEN: "hunter2" }).message).not.toContain("hunter2");
  });
});

describe("agent", () => {
  const openai = { OPENAI_API_KEY: "sk-0123456789", OPENAI_BASE_URL: "http://127.0.0.1:11434/v1" };

  test("is laid over key by key, and paths become absolute", () => {
    const config = file({ agent: { model: "openai:a", workspace: ".", tools: ["t.mjs", "/x.mjs"], maxSteps: 7 } });
    expect(load({ config, workspace: tmpdir() }, { HEDDLE_MODEL: "openai:b" }).agent).toEqual({
      ...defaultConfig.agent,
      model: "openai:b",
      workspace: tmpdir(),
      tools: [join(directory, "t.mjs"), "/x.mjs"],
      maxSteps: 7,
    });
    expect(load({ config }, { HEDDLE_MODEL: "openai:b" }).agent.workspace).toBe(directory);
    expect(load({ config, model: "openai:c" }, { HEDDLE_MODEL: "openai:b" }).agent.model).toBe("openai:c");
  });

  test("a workspace must be a directory that is there, and the message names its source", () => {
    const none = join(directory, "none");
    expect(refusal({ workspace: none }).message).toBe(
      `--workspace: there is no directory ${none}; make it, or name another`,
    );
    const plain = file("{}");
    expect(refusal({}, { HEDDLE_WORKSPACE: plain }).message).toContain(`HEDDLE_WORKSPACE: ${plain} is not a directory`);
    expect(refusedFile({ agent: { workspace: "none" } })).toContain("FILE: agent.workspace: there is no directory");
    const kinds = (error: HeddleError) =>
      (error.cause as AggregateError).errors.map((each) => each instanceof FlagProblem);
    expect(kinds(refusal({ workspace: none }))).toEqual([true]);
    expect(kinds(refusal({}, { HEDDLE_WORKSPACE: none }))).toEqual([false]);
  });

  test.each(["", "gpt-4o", ":x", "openai:", "openai: x", "Openai:x", "openai:a\nb"])("%j is no model", (model) => {
    expect(refusal({ model }).message).toMatch(/^--model must be provider:name, such as /);
  });

  test.each(["openai:llama3.1:8b", "openai:meta/llama-3", "scripted:tests/my script.json"])("%s is one", (model) => {
    expect(load({ model }).agent.model).toBe(model);
  });

  test("instructions are bounded in bytes", () => {
    const text = (bytes: number) => "ä".repeat(bytes / 2);
    expect(load({ config: file({ agent: { instructions: text(256 * 1024) } }) }).agent.instructions).toHaveLength(
      128 * 1024,
    );
    expect(refusedFile({ agent: { instructions: text(256 * 1024 + 2) } })).toContain("text of at most 256 KiB");
  });

  test("providers come from their own variables alone", () => {
    expect(
      load({}, { ...openai, ANTHROPIC_API_KEY: "", ANTHROPIC_BASE_URL: "https://a.example" }).agent.providers,
    ).toEqual({
      openai: { apiKey: "sk-0123456789", baseUrl: "http://127.0.0.1:11434/v1" },
      anthropic: { apiKey: undefined, baseUrl: "https://a.example" },
    });
    expect(refusedFile({ agent: { providers: {} } })).toContain("agent.providers is not a known key");
  });

  test("a key or an address that cannot work is named without its value", () => {
    const env = { OPENAI_API_KEY: "sk-secret\nkey", ANTHROPIC_BASE_URL: "user:secret@host" };
    const { message } = refusal({}, env);
    expect(message).toContain("OPENAI_API_KEY must be printable ASCII without spaces");
    expect(message).toContain("ANTHROPIC_BASE_URL must be a URL such as");
    expect(message).not.toContain("secret");
  });
});

describe("agent.web", () => {
  const web = (values: object, env: Environment = {}) =>
    load({ config: file({ agent: { web: values } }) }, env).agent.web;
  const refused = (values: object, env: Environment = {}) => refusedFile({ agent: { web: values } }, env);

  test("the key comes from the usual variable, or from the one that is named", () => {
    const brave = { backend: "brave", url: undefined, key: "k-1" };
    expect(web({ search: { backend: "brave" } }, { BRAVE_API_KEY: "k-1" }).search).toEqual(brave);
    expect(web({ search: { backend: "brave", keyEnv: "MINE" } }, { MINE: "k-1", BRAVE_API_KEY: "k-2" }).search).toEqual(
      brave,
    );
    expect(web({ search: { backend: "tavily" } }, { TAVILY_API_KEY: "k-3" }).search).toMatchObject({ key: "k-3" });
    expect(web({ search: { backend: "searxng", url: "http://127.0.0.1:8888" } }).search).toEqual({
      backend: "searxng",
      url: "http://127.0.0.1:8888",
      key: undefined,
    });
  });

  test("settings beside the search leave it off", () => {
    expect(web({ allowHosts: ["wiki.intranet:8080", "[fd00::1]:80"], maxBytes: 2_000 })).toEqual({
      ...defaultConfig.agent.web,
      allowHosts: ["wiki.intranet:8080", "[fd00::1]:80"],
      maxBytes: 2_000,
    });
    expect(web({ search: {} }).search).toBeUndefined();
  });

  test.each([
    [{ search: { backend: "google" } }, "agent.web.search.backend must be one of searxng, brave, tavily"],
    [{ search: { backend: "brave" } }, "agent.web.search.backend needs a key: set the variable BRAVE_API_KEY"],
    [{ search: { backend: "searxng" } }, "agent.web.search.url must be set: the URL of your SearXNG instance"],
    [{ search: { url: "http://a.example" } }, "agent.web.search.backend must be set"],
    [{ search: { backend: "searxng", url: "ftp://a" } }, "agent.web.search.url must be an http or https URL"],
    [{ search: { backend: "searxng", url: "http://a/?q=1" } }, "agent.web.search.url must be an http or https URL"],
    [
      { search: { backend: "brave", keyEnv: "a b" } },
      "agent.web.search.keyEnv must be the name of an environment variable",
    ],
    [{ allowHosts: ["wiki.intranet"] }, "agent.web.allowHosts[0] must be host:port"],
    [{ allowHosts: ["http://wiki.intranet:80"] }, "agent.web.allowHosts[0] must be host:port"],
    [{ allowHosts: ["wiki:99999"] }, "agent.web.allowHosts[0] must be host:port"],
    [{ allowHosts: ["*:80/"] }, "agent.web.allowHosts[0] must be host:port"],
  ])("%j is refused", (values, message) => {
    expect(refused(values)).toContain(message);
  });

  test("nothing secret is shown", () => {
    const search = { backend: "searxng", url: "http://me:hunter2@a.example" };
    expect(refused({ search })).not.toContain("hunter2");
    expect(refused({ search: { backend: "brave" } }, { BRAVE_API_KEY: "sec ret" })).not.toContain("sec ret");
  });
});

describe("agent.commands", () => {
  test("has a default for whatever is not said", () => {
    expect(
      load({ config: file({ agent: { commands: { sandbox: "none", env: ["DATABASE_URL"] } } }) }).agent.commands,
    ).toEqual({
      sandbox: "none",
      network: false,
      env: ["DATABASE_URL"],
      timeoutMs: 120_000,
    });
  });

  test.each([
    [{ sandbox: "docker" }, "agent.commands.sandbox must be one of auto, bubblewrap, none"],
    [{ network: "no" }, "agent.commands.network must be true or false"],
    [{ env: ["A=B"] }, "agent.commands.env[0] must be the name of an environment variable"],
    [
      { env: ["PATH", "OPENAI_API_KEY"] },
      "agent.commands.env[1] must be a variable that holds no key of the server's own",
    ],
    [{ env: ["HEDDLE_TOKEN"] }, "agent.commands.env[0] must be a variable that holds no key of the server's own"],
    [{ shell: "zsh" }, "agent.commands.shell is not a known key"],
  ])("does not take %j", (values, words) => {
    expect(refusedFile({ agent: { commands: values } })).toContain(words);
  });
});

describe("docs/configuration.md", () => {
  const text = readFileSync(new URL("../docs/configuration.md", import.meta.url), "utf8");
  const table = text.slice(text.indexOf("## Keys of the file"), text.indexOf("## Variables"));
  const rows = [...table.matchAll(/^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|/gm)];

  test("lists the keys of the schema, in its order", () => {
    expect(rows.map(([, key]) => key)).toEqual(configKeys);
  });

  test("gives the defaults that apply", () => {
    const { listen, dataDir, logLevel, allowedOrigins, secrets, limits, timing, agent, responses } = defaultConfig;
    const {
      workspace: _none,
      providers: _variables,
      web,
      commands,
      interpreter,
      delegation,
      mcp,
      ...agentKeys
    } = agent;
    const { servers: _ofTheFile, ...mcpKeys } = mcp;
    const { search: _noSearch, ...webKeys } = web;
    const actual: Record<string, unknown> = {
      listen: `${listen.host}:${listen.port}`,
      data: dataDir,
      logLevel,
      allowedOrigins,
      secrets,
    };
    for (const [key, value] of Object.entries(limits)) actual[`limits.${key}`] = value;
    for (const [key, value] of Object.entries(timing)) actual[`timing.${key}`] = value;
    for (const [key, value] of Object.entries(agentKeys)) actual[`agent.${key}`] = value;
    for (const [key, value] of Object.entries(responses)) actual[`responses.${key}`] = value;
    for (const [key, value] of Object.entries(webKeys)) actual[`agent.web.${key}`] = value;
    for (const [section, keys] of Object.entries({ commands, interpreter, delegation, mcp: mcpKeys }))
      for (const [key, value] of Object.entries(keys)) actual[`agent.${section}.${key}`] = value;
    for (const [key, value] of Object.entries(defaultTimes)) actual[`mcpServers.NAME.${key}`] = value;
    const documented = rows
      .filter(([, , value]) => value!.startsWith("`"))
      .map(([, key, value]) => [key, JSON.parse(value!.replaceAll("`", ""))]);
    expect(Object.fromEntries(documented)).toEqual(actual);
  });

  const defaultOf = (key: string) =>
    key.split(".").reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], defaultConfig);
  const isNumber = (key: string) => typeof defaultOf(key) === "number" || /^mcpServers\.NAME\.\w+Ms$/i.test(key);
  const nested = (key: string, value: unknown) =>
    key
      .split(".")
      .reduceRight<unknown>(
        (inner, part) => ({ [part]: inner, ...(part.endsWith("Ms") && besides(key)) }),
        value,
      ) as object;
  const besides = (key: string) => (key.startsWith("mcpServers.") ? { command: "true" } : {});

  test("gives the bounds of every number", () => {
    const bounds = rows.flatMap(([, key, , allowed]) => {
      const [, min, max] = /^(\d+) to (\d+)$/.exec(allowed!) ?? [];
      return min === undefined ? [] : [{ key: key!, min: Number(min), max: Number(max) }];
    });
    expect(bounds.map(({ key }) => key)).toEqual(configKeys.filter(isNumber));
    for (const { key, min, max } of bounds) {
      for (const right of [min, max]) expect(() => load({ config: file(nested(key, right)) })).not.toThrow();
      for (const wrong of [min - 1, max + 1]) expect(refusedFile(nested(key, wrong))).toContain(key);
    }
  });
});

function refusedOrNot(text: string): string {
  try {
    return refusedFile(text);
  } catch {
    return "accepted";
  }
}
