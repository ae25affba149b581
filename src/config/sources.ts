// The three places a setting can come from. Each becomes one object of the schema's keys, with a way to say where a value
// of it came from, so that a problem names the place that a person must change.
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { findSyntaxProblem, type SyntaxProblem } from "./json-syntax.js";
import { environmentTokenName, keysAt, type Source, sourceSchema } from "./schema.js";

/** The flags of `heddle serve`, and those that `heddle run` shares with it, as typed. */
export interface ConfigFlags {
  readonly config?: string | undefined;
  readonly listen?: string | undefined;
  readonly data?: string | undefined;
  readonly logLevel?: string | undefined;
  readonly takeOver?: boolean | undefined;
  readonly model?: string | undefined;
  readonly workspace?: string | undefined;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** What is wrong, where, and what is right: one line for a person. `field` is the schema's path. */
export interface Problem {
  readonly field: string;
  readonly text: string;
  /** The command line is what must change: not a variable, and not what a file says. */
  readonly isFlag?: boolean;
}

/** One source, read and checked. `name` says where a value came from: `HEDDLE_LISTEN`, `--listen`, `heddle.json: listen`. */
export interface Layer {
  readonly values: Source;
  readonly problems: readonly Problem[];
  /** Its problems are those of the command line. */
  readonly isFlags?: boolean;
  name(path: Path): string;
}

type Path = readonly PropertyKey[];

const largestFileBytes = 1024 * 1024;
const longestShown = 60;

/** Which variable sets which key. An empty variable counts as one that is not set, except for the token. */
const variables = {
  listen: "HEDDLE_LISTEN",
  data: "HEDDLE_DATA",
  logLevel: "HEDDLE_LOG_LEVEL",
  "tls.certFile": "HEDDLE_TLS_CERT",
  "tls.keyFile": "HEDDLE_TLS_KEY",
  "agent.model": "HEDDLE_MODEL",
  "agent.workspace": "HEDDLE_WORKSPACE",
  // An empty token is more likely a failed substitution than a wish for an open server: it is refused.
  "tokens[0].token": "HEDDLE_TOKEN",
} as const;

const flags: Readonly<Record<string, string>> = {
  listen: "--listen",
  data: "--data",
  logLevel: "--log-level",
  "agent.model": "--model",
  "agent.workspace": "--workspace",
};

export function readFlags(given: ConfigFlags): Layer {
  const { listen, data, logLevel, model, workspace } = given;
  const layer = check({ listen, data, logLevel, agent: { model, workspace } }, (path) => flags[dotted(path)]!);
  return { ...layer, isFlags: true, problems: layer.problems.map((problem) => ({ ...problem, isFlag: true })) };
}

export function readEnvironment(env: Environment): Layer {
  const value = (name: string) => (env[name] === "" ? undefined : env[name]);
  const token = env[variables["tokens[0].token"]];
  const raw = {
    listen: value(variables.listen),
    data: value(variables.data),
    logLevel: value(variables.logLevel),
    tls: { certFile: value(variables["tls.certFile"]), keyFile: value(variables["tls.keyFile"]) },
    tokens: token === undefined ? undefined : [{ name: environmentTokenName, token }],
    agent: { model: value(variables["agent.model"]), workspace: value(variables["agent.workspace"]) },
  };
  return check(raw, (path) => variables[dotted(path) as keyof typeof variables] ?? dotted(path));
}

/** Paths inside the file are relative to the file: it means the same wherever the command is started. */
export function readFile(path: string): Layer {
  const name = (at: Path) => (at.length === 0 ? path : `${path}: ${dotted(at)}`);
  const text = readText(path);
  if ("problem" in text) return { values: {}, problems: [text.problem], name };
  const syntax = findSyntaxProblem(text.json);
  if (syntax !== undefined) return { values: {}, problems: [{ field: "", text: atPlace(path, syntax) }], name };
  const layer = check(JSON.parse(text.json), name);
  return { ...layer, values: withPathsFrom(dirname(resolve(path)), layer.values) };
}

/** `tokens[0].name`, as people write a path. */
export function dotted(path: Path): string {
  return path
    .map((part, index) => (typeof part === "number" ? `[${part}]` : `${index === 0 ? "" : "."}${String(part)}`))
    .join("");
}

function readText(path: string): { json: string } | { problem: Problem } {
  try {
    const bytes = readFileSync(path);
    if (bytes.length > largestFileBytes)
      return { problem: { field: "", text: `${path}: must be at most 1 MiB of JSON, not ${bytes.length} bytes` } };
    return { json: bytes.toString("utf8").replace(/^\uFEFF/, "") };
  } catch (reason) {
    const code = (reason as NodeJS.ErrnoException).code;
    const why =
      code === "ENOENT"
        ? "there is no such file"
        : code === "EISDIR"
          ? "it is a directory"
          : `it cannot be read (${code ?? "unknown error"})`;
    return { problem: { field: "", text: `--config ${path}: ${why}; give the path of a JSON file`, isFlag: true } };
  }
}

const atPlace = (path: string, { line, column, expected }: SyntaxProblem): string =>
  `${path}:${line}:${column}: this is not JSON; expected ${expected}`;

function withPathsFrom(directory: string, values: Source): Source {
  const { data, tls, agent, mcpServers } = values;
  const { workspace, tools } = agent ?? {};
  return {
    ...values,
    ...(data === undefined ? {} : { data: resolve(directory, data) }),
    ...(tls === undefined
      ? {}
      : {
          tls: {
            ...(tls.certFile === undefined ? {} : { certFile: resolve(directory, tls.certFile) }),
            ...(tls.keyFile === undefined ? {} : { keyFile: resolve(directory, tls.keyFile) }),
          },
        }),
    ...(agent === undefined
      ? {}
      : {
          agent: {
            ...agent,
            ...(workspace === undefined ? {} : { workspace: resolve(directory, workspace) }),
            ...(tools === undefined ? {} : { tools: tools.map((path) => resolve(directory, path)) }),
          },
        }),
    ...(mcpServers === undefined
      ? {}
      : { mcpServers: Object.fromEntries(Object.entries(mcpServers).map((entry) => startedFrom(directory, entry))) }),
  };
}

type McpServers = NonNullable<Source["mcpServers"]>;

const startedFrom = (directory: string, [name, server]: [string, McpServers[string]]): [string, McpServers[string]] => [
  name,
  // A variable may hold an absolute path.
  server.cwd === undefined || server.cwd.startsWith("${") ? server : { ...server, cwd: resolve(directory, server.cwd) },
];

function check(raw: unknown, name: (path: Path) => string): Layer {
  const result = sourceSchema.safeParse(raw);
  if (result.success) return { values: result.data, problems: [], name };
  const problems = result.error.issues.flatMap((issue): Problem[] =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => unknownKey([...issue.path, key], name))
      : [
          {
            field: dotted(issue.path),
            text: `${name(issue.path)} must be ${issue.message}${instead(raw, issue.path)}`,
          },
        ],
  );
  return { values: {}, problems, name };
}

const unknownKey = (path: Path, name: (path: Path) => string): Problem => ({
  field: dotted(path),
  text: `${name(path)} is not a known key; known here: ${keysAt(path.slice(0, -1)).join(", ")}`,
});

/** What was found in place of what is right. Nothing of tokens, secrets and what servers are given is ever shown. */
function instead(raw: unknown, path: Path): string {
  if (path[0] === "tokens" || path[0] === "secrets" || path[0] === "mcpServers") return "";
  const found = path.reduce((at, part) => (at as Record<PropertyKey, unknown> | undefined)?.[part], raw);
  if (found === undefined) return "";
  const shown = typeof found === "object" ? (Array.isArray(found) ? "a list" : "an object") : JSON.stringify(found);
  return `, not ${shown.length > longestShown ? `${shown.slice(0, longestShown)}…` : shown}`;
}
