// Flags, environment and file become one frozen Config, checked once; nothing else in the program reads any of them.
// A flag beats a variable, a variable beats the file, the file beats the default. docs/configuration.md lists every key.
import { resolve } from "node:path";
import { type AgentConfig, agentOf, defaultAgent } from "./config/agent.js";
import { type DocumentsConfig, defaultDocuments, documentsOf } from "./config/documents.js";
import type { ListenAddress } from "./config/listen.js";
import { defaultResponses, type ResponsesConfig, responsesOf } from "./config/responses.js";
import { isToken, type LogLevel, type Source } from "./config/schema.js";
import {
  type ConfigFlags,
  dotted,
  type Environment,
  type Layer,
  type Problem,
  readEnvironment,
  readFile,
  readFlags,
} from "./config/sources.js";
import { HeddleError } from "./thread/errors.js";

export type { AgentConfig, ProviderAccess } from "./config/agent.js";
export { logLevels } from "./config/schema.js";
export type { ConfigFlags, Environment } from "./config/sources.js";
export { packageVersion } from "./config/version.js";

/** What everything is built from. */
export interface Config {
  readonly listen: ListenAddress;
  /** Absolute when it comes from `loadConfig`. */
  readonly dataDir: string;
  readonly logLevel: string;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** Static bearer tokens. Empty: nobody is asked for one, and only loopback may be bound. */
  readonly tokens: readonly { readonly name: string; readonly token: string }[];
  /** Browser origins that may call (CORS). */
  readonly allowedOrigins: readonly string[];
  /** Texts that must never be stored, besides those that look like keys. */
  readonly secrets: readonly string[];
  readonly limits: {
    readonly connections: number;
    readonly streamsPerConnection: number;
    readonly messageBytes: number;
    readonly headerBytes: number;
  };
  readonly timing: {
    readonly heartbeatMs: number;
    readonly pingMs: number;
    readonly pingTimeoutMs: number;
    readonly drainMs: number;
    readonly streamMaxAgeMs: number;
  };
  readonly agent: AgentConfig;
  readonly documents: DocumentsConfig;
  readonly responses: ResponsesConfig;
  /** Where settings were read from, absolute. It may hold tokens. */
  readonly configFile: string | undefined;
  /** Take the data directory from a process that still holds it. A flag only: a file must not do it at every start. */
  readonly takeOver: boolean;
}

export const defaultConfig: Config = deepFreeze({
  listen: { host: "127.0.0.1", port: 8787 },
  dataDir: ".heddle",
  logLevel: "info" satisfies LogLevel,
  tls: undefined,
  tokens: [],
  allowedOrigins: [],
  secrets: [],
  limits: { connections: 4096, streamsPerConnection: 256, messageBytes: 4 * 1024 * 1024, headerBytes: 16 * 1024 },
  timing: { heartbeatMs: 15_000, pingMs: 20_000, pingTimeoutMs: 10_000, drainMs: 10_000, streamMaxAgeMs: 3_600_000 },
  agent: defaultAgent,
  documents: defaultDocuments,
  responses: defaultResponses,
  configFile: undefined,
  takeOver: false,
});

/** A problem that a flag of the command line causes. */
export class FlagProblem extends Error {}

/**
 * The whole configuration, or `invalid_config` that names every problem; the cause is an AggregateError with one error
 * each, a FlagProblem where the command line must change.
 */
export function loadConfig(given: { flags: ConfigFlags; env: Environment }): Config {
  const { flags, env } = given;
  // From the weakest to the strongest.
  const layers = [
    ...(flags.config === undefined ? [] : [readFile(flags.config)]),
    readEnvironment(env),
    readFlags(flags),
  ];
  refuse(layers.flatMap((layer) => layer.problems));
  const problems: Problem[] = [];
  const config: Config = deepFreeze({
    ...merged(layers.map((layer) => layer.values)),
    tls: tlsOf(layers, problems),
    tokens: tokensOf(layers, env, problems),
    agent: agentOf(layers, env, problems),
    documents: documentsOf(layers, env, problems),
    responses: responsesOf(layers),
    configFile: flags.config === undefined ? undefined : resolve(flags.config),
    takeOver: flags.takeOver ?? defaultConfig.takeOver,
  });
  refuse(problems);
  return config;
}

function merged(
  sources: readonly Source[],
): Omit<Config, "tls" | "tokens" | "agent" | "documents" | "responses" | "configFile" | "takeOver"> {
  const last = <Key extends keyof Source>(key: Key) => sources.findLast((source) => source[key] !== undefined)?.[key];
  return {
    listen: last("listen") ?? defaultConfig.listen,
    dataDir: resolve(last("data") ?? defaultConfig.dataDir),
    logLevel: last("logLevel") ?? defaultConfig.logLevel,
    allowedOrigins: last("allowedOrigins") ?? defaultConfig.allowedOrigins,
    secrets: last("secrets") ?? defaultConfig.secrets,
    limits: withDefaults(defaultConfig.limits, last("limits")),
    timing: withDefaults(defaultConfig.timing, last("timing")),
  };
}

const withDefaults = <Section extends Record<string, number>>(
  defaults: Section,
  given: { readonly [Key in keyof Section]?: number | undefined } | undefined,
): Section => ({ ...defaults, ...given }) as Section;

/** The two halves may come from different sources; half a pair is a mistake. */
function tlsOf(layers: readonly Layer[], problems: Problem[]): Config["tls"] {
  const cert = layers.findLast((layer) => layer.values.tls?.certFile !== undefined);
  const key = layers.findLast((layer) => layer.values.tls?.keyFile !== undefined);
  if (cert !== undefined && key !== undefined) {
    return { certFile: resolve(cert.values.tls!.certFile!), keyFile: resolve(key.values.tls!.keyFile!) };
  }
  const [half, layer, missing] =
    key === undefined ? (["certFile", cert, "keyFile"] as const) : (["keyFile", key, "certFile"] as const);
  if (layer !== undefined) {
    const field = `tls.${missing}`;
    problems.push({
      field,
      text: `${layer.name(["tls", half])} is set but ${field} is not: TLS needs both, or neither`,
    });
  }
  return undefined;
}

/** A list replaces the list of a weaker source. Messages name entries and variables, never a token. */
function tokensOf(layers: readonly Layer[], env: Environment, problems: Problem[]): Config["tokens"] {
  const layer = layers.findLast((candidate) => candidate.values.tokens !== undefined);
  const tokens = (layer?.values.tokens ?? []).map(({ name, token, tokenEnv }, index) => {
    if (tokenEnv === undefined) return { name, token: token! };
    const path = ["tokens", index, "tokenEnv"];
    const value = env[tokenEnv];
    const rule =
      value === undefined
        ? `the variable ${tokenEnv} is not set; set it to the token, or remove the entry`
        : isToken(value)
          ? undefined
          : `the variable ${tokenEnv} must hold 16 to 512 characters of printable ASCII without spaces`;
    if (rule !== undefined) problems.push({ field: dotted(path), text: `${layer!.name(path)}: ${rule}` });
    return { name, token: value ?? "" };
  });
  for (const [index, { name, token }] of tokens.entries()) {
    const earlier = tokens.slice(0, index);
    const path = ["tokens", index];
    const clash = earlier.some((other) => other.name === name)
      ? `the name "${name}" is used twice; give each token a name of its own`
      : earlier.some((other) => other.token === token && token !== "")
        ? `the same token has another name above; each name needs a token of its own`
        : undefined;
    if (clash !== undefined) problems.push({ field: dotted(path), text: `${layer!.name(path)}: ${clash}` });
  }
  return tokens;
}

function refuse(problems: readonly Problem[]): void {
  if (problems.length === 0) return;
  const unique = [...new Map(problems.map((problem) => [problem.text, problem])).values()];
  const texts = unique.map((problem) => problem.text);
  const message =
    texts.length === 1 ? texts[0]! : `the configuration has ${texts.length} problems: ${texts.join("; ")}`;
  throw new HeddleError("invalid_config", message, {
    detail: { field: unique[0]!.field },
    cause: new AggregateError(
      unique.map(({ text, isFlag }) => (isFlag === true ? new FlagProblem(text) : new Error(text))),
      message,
    ),
  });
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}
