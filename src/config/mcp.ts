// MCP servers, in the form that people have them in already: `mcpServers: { name: { command, args, env } | { url, headers } }`. Values
// may refer to variables (`${NAME}`), so that the file holds no secret; what is wrong is told without showing a value.
import { validateHeaderName, validateHeaderValue } from "node:http";
import { resolve } from "node:path";
import { z } from "zod";
import { section, text, whole } from "./rules.js";
import type { Environment, Layer, Problem } from "./sources.js";
import { hostAndPort } from "./web.js";

const policies = ["allow", "ask", "deny"] as const;
const types = ["stdio", "http", "streamable-http", "streamableHttp", "streamable_http"] as const;

export interface McpConfig {
  readonly servers: readonly McpServerConfig[];
  /** Whether threads may bring servers of their own. */
  readonly threadServers: boolean;
  /** `host:port` of single hosts that servers of threads may be on although they are private. */
  readonly allowHosts: readonly string[];
}

export interface McpServerConfig {
  readonly label: string;
  readonly place:
    | {
        readonly kind: "program";
        readonly command: string;
        readonly args: readonly string[];
        /** Secret. */
        readonly env: Readonly<Record<string, string>>;
        /** Absolute. */
        readonly cwd: string;
      }
    /** `headers`: secret. */
    | { readonly kind: "address"; readonly url: string; readonly headers: Readonly<Record<string, string>> };
  /** Values of variables that stand in it. */
  readonly secrets: readonly string[];
  readonly policy: (typeof policies)[number] | undefined;
  readonly startTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly timeoutMs: number;
}

export const defaultMcp: McpConfig = { servers: [], threadServers: false, allowHosts: [] };

export const defaultTimes = { startTimeoutMs: 30_000, idleTimeoutMs: 120_000, timeoutMs: 600_000 };
const hourMs = 3_600_000;
const longestLabel = 64;
const mostServers = 64;

export const mcpSchema = section({
  threadServers: z.boolean("true or false").optional(),
  allowHosts: z.array(hostAndPort, "a list of hosts").max(1000, "a list of at most 1000 hosts").optional(),
});

const textMap = (rule: string) => z.record(z.string(), z.string(rule), rule);
const entryRule = 'an object with either "command" (and args, env, cwd) or "url" (and headers)';
const typeRule = `one of ${types.join(", ")}; the older sse is not spoken: give the address of the server's streamable HTTP`;

const server = section({
  command: text("a program").optional(),
  args: z.array(z.string("a list of texts"), "a list of texts").max(256, "a list of at most 256 texts").optional(),
  env: textMap("an object of variables and their values").optional(),
  cwd: text("the path of a directory").optional(),
  url: text("an http or https URL").optional(),
  headers: textMap("an object of header names and their values").optional(),
  type: z.enum(types, typeRule).optional(),
  disabled: z.boolean("true or false").optional(),
  policy: z.enum(policies, `one of ${policies.join(", ")}`).optional(),
  startTimeoutMs: whole(100, hourMs).optional(),
  idleTimeoutMs: whole(100, 24 * hourMs).optional(),
  timeoutMs: whole(100, 24 * hourMs).optional(),
});

const labelRule = `an object of servers by their names, each of 1 to ${longestLabel} visible characters on one line`;

export const mcpServersSchema = z
  .record(
    z.string().regex(/^(?=\S)[^\p{C}\u2028\u2029]{1,64}(?<=\S)$/u, labelRule),
    server.refine(isOneOrTheOther, entryRule),
    labelRule,
  )
  .refine((servers) => Object.keys(servers).length <= mostServers, `an object of at most ${mostServers} servers`);

type Entry = z.output<typeof server>;

function isOneOrTheOther({ command, url, args, env, cwd, headers, type }: Entry): boolean {
  if ((command === undefined) === (url === undefined)) return false;
  if (command !== undefined) return headers === undefined && (type ?? "stdio") === "stdio";
  return [args, env, cwd].every((part) => part === undefined) && type !== "stdio";
}

export function mcpOf(layers: readonly Layer[], env: Environment, problems: Problem[]): McpConfig {
  const { threadServers, allowHosts } = layers.findLast(({ values }) => values.agent?.mcp)?.values.agent?.mcp ?? {};
  const layer = layers.findLast(({ values }) => values.mcpServers !== undefined);
  const given = Object.entries(layer?.values.mcpServers ?? {}).filter(([, entry]) => entry.disabled !== true);
  const servers = given.map(([label, entry]) => {
    const report = (key: string, rule: string): void => {
      const path = ["mcpServers", label, ...(key === "" ? [] : [key])];
      problems.push({ field: path.join("."), text: `${layer!.name(path)} ${rule}` });
    };
    return serverOf(label, entry, new Variables(env, report));
  });
  reportAlike(servers, (label, other) => {
    const path = ["mcpServers", label];
    const rule = `is too much like ${other}: the names of their tools could not be told apart; rename one`;
    problems.push({ field: path.join("."), text: `${layer!.name(path)} ${rule}` });
  });
  return {
    servers,
    threadServers: threadServers ?? defaultMcp.threadServers,
    allowHosts: allowHosts ?? defaultMcp.allowHosts,
  };
}

function serverOf(label: string, entry: Entry, variables: Variables): McpServerConfig {
  const { command, args = [], cwd, url = "", policy } = entry;
  const { startTimeoutMs, idleTimeoutMs, timeoutMs } = entry;
  const place =
    command === undefined
      ? ({ kind: "address", url: urlOf(url, variables), headers: headersOf(entry, variables) } as const)
      : ({
          kind: "program",
          command: variables.filled("command", command),
          args: args.map((arg) => variables.filled("args", arg)),
          env: variables.all("env", entry.env),
          cwd: resolve(variables.filled("cwd", cwd ?? ".")),
        } as const);
  return {
    label,
    place,
    secrets: variables.used,
    policy,
    startTimeoutMs: startTimeoutMs ?? defaultTimes.startTimeoutMs,
    idleTimeoutMs: idleTimeoutMs ?? defaultTimes.idleTimeoutMs,
    timeoutMs: timeoutMs ?? defaultTimes.timeoutMs,
  };
}

function urlOf(given: string, variables: Variables): string {
  const url = variables.filled("url", given);
  const isRight =
    URL.canParse(url) &&
    /^https?:$/.test(new URL(url).protocol) &&
    new URL(url).username === "" &&
    new URL(url).password === "";
  if (!isRight && !variables.isMissing)
    variables.report("url", "must be an http or https URL without name and password, such as https://example.com/mcp");
  return url;
}

function headersOf(entry: Entry, variables: Variables): Readonly<Record<string, string>> {
  const headers = variables.all("headers", entry.headers);
  for (const [name, value] of Object.entries(headers))
    if (!isSendable(name, value))
      variables.report(`headers.${name}`, "must be a name and a value that HTTP can send: ASCII, on one line");
  return headers;
}

function isSendable(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value.trim()); // What stands around it is not sent: secrets in files often end in a new line.
    return true;
  } catch {
    return false;
  }
}

/** `${NAME}`, or `${NAME:-what counts where it is not set}`. */
const reference = /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g;

/** Fills in variables, and remembers what they held. */
class Variables {
  readonly used: string[] = [];
  readonly report: (key: string, rule: string) => void;
  /** One was not set, and has been reported. */
  isMissing = false;
  readonly #env: Environment;

  constructor(env: Environment, report: (key: string, rule: string) => void) {
    this.#env = env;
    this.report = report;
  }

  filled(key: string, text: string): string {
    return text.replace(reference, (_, name: string, otherwise: string | undefined) => {
      const value = this.#env[name] || undefined;
      if (value !== undefined) this.used.push(value);
      if (value === undefined && otherwise === undefined) {
        this.isMissing = true;
        this.report(
          key,
          `refers to the variable ${name}, which is not set: set it, or write \${${name}:-} where it may be empty`,
        );
      }
      return value ?? otherwise ?? "";
    });
  }

  all(key: string, values: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
    return Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, this.filled(`${key}.${name}`, value)]),
    );
  }
}

/** As in the names of tools (tool/policy.ts): `mcp__label__tool`. */
function reportAlike(servers: readonly McpServerConfig[], report: (label: string, other: string) => void): void {
  const plain = (label: string): string => `${label.replace(/[^a-zA-Z0-9_-]/g, "_")}__`;
  for (const [index, { label }] of servers.entries()) {
    const like = servers
      .slice(0, index)
      .find((other) => plain(other.label).startsWith(plain(label)) || plain(label).startsWith(plain(other.label)));
    if (like) report(label, like.label);
  }
}
