// What web_search and web_fetch may do. A key comes from a variable, stands in no file and in no message.
import { z } from "zod";
import { isBaseUrl, section, text, variableName, whole } from "./rules.js";
import type { Environment, Layer, Problem } from "./sources.js";

const backends = ["searxng", "brave", "tavily"] as const;

export interface WebConfig {
  /** `host:port` of single hosts that may be private. */
  readonly allowHosts: readonly string[];
  /** The most that is read of one answer. */
  readonly maxBytes: number;
  /** For all of one fetch. */
  readonly timeoutMs: number;
  /** Undefined: there is nothing to search with. */
  readonly search: SearchConfig | undefined;
}

export interface SearchConfig {
  readonly backend: (typeof backends)[number];
  /** Undefined: the service's own. */
  readonly url: string | undefined;
  /** Secret. */
  readonly key: string | undefined;
}

export const defaultWeb: WebConfig = { search: undefined, allowHosts: [], maxBytes: 5_000_000, timeoutMs: 20_000 };

const hostRule = "host:port, such as wiki.intranet:8080 or [fd00::1]:80";
export const hostAndPort = z.string(hostRule).refine(isHostAndPort, hostRule);

export const webSchema = section({
  search: section({
    backend: z.enum(backends, `one of ${backends.join(", ")}`).optional(),
    url: text("a URL").optional(),
    keyEnv: variableName.optional(),
  }).optional(),
  allowHosts: z.array(hostAndPort, "a list of hosts").max(1000, "a list of at most 1000 hosts").optional(),
  maxBytes: whole(1_000, 64_000_000).optional(),
  timeoutMs: whole(100, 600_000).optional(),
});

/** The variable that each service's own tools read. A SearXNG instance asks for no key unless its operator has put one. */
const usualVariables = { searxng: undefined, brave: "BRAVE_API_KEY", tavily: "TAVILY_API_KEY" } as const;

export function webOf(layers: readonly Layer[], env: Environment, problems: Problem[]): WebConfig {
  const layer = layers.findLast(({ values }) => values.agent?.web !== undefined);
  const { search, allowHosts, maxBytes, timeoutMs } = layer?.values.agent?.web ?? {};
  const report = (key: string, rule: string): void => {
    const place = layer!.name(["agent", "web", "search", key]);
    problems.push({ field: `agent.web.search.${key}`, text: `${place} ${rule}` });
  };
  return {
    search: search && searchOf(search, env, report),
    allowHosts: allowHosts ?? defaultWeb.allowHosts,
    maxBytes: maxBytes ?? defaultWeb.maxBytes,
    timeoutMs: timeoutMs ?? defaultWeb.timeoutMs,
  };
}

function searchOf(
  { backend, url, keyEnv }: NonNullable<z.output<typeof webSchema>["search"]>,
  env: Environment,
  report: (key: string, rule: string) => void,
): SearchConfig | undefined {
  if (backend === undefined) {
    if (url !== undefined || keyEnv !== undefined) report("backend", `must be set: one of ${backends.join(", ")}`);
    return undefined;
  }
  if (url === undefined && backend === "searxng")
    report("url", "must be set: the URL of your SearXNG instance, such as http://127.0.0.1:8888");
  // What stands there may hold a password, and is not shown.
  if (url !== undefined && !isBaseUrl(url))
    report(
      "url",
      "must be an http or https URL without name, password, query or fragment, such as http://127.0.0.1:8888",
    );
  return { backend, url, key: keyOf(keyEnv ?? usualVariables[backend], env, report) };
}

function keyOf(
  variable: string | undefined,
  env: Environment,
  report: (key: string, rule: string) => void,
): string | undefined {
  if (variable === undefined) return undefined;
  const key = env[variable] || undefined;
  if (key === undefined) report("backend", `needs a key: set the variable ${variable}, or name another with keyEnv`);
  else if (!/^[\x21-\x7e]+$/.test(key))
    report("keyEnv", `leads to ${variable}, which must be printable ASCII without spaces`);
  return key;
}

function isHostAndPort(value: string): boolean {
  const [, port] = /^[^/@?#\\\s]+:(\d{1,5})$/.exec(value) ?? [];
  return port !== undefined && Number(port) >= 1 && Number(port) <= 65_535 && URL.canParse(`http://${value}`);
}
