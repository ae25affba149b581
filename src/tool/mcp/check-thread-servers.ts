// Whether servers that a caller brings along can be taken. What cannot is refused whole, with the field that is wrong; no message
// holds a header.
import { invalidField } from "../../thread/errors.js";
import { limits } from "../../thread/limits.js";
import { cleanSummary } from "../../thread/summary.js";
import { mcpPrefix } from "../policy.js";

/** An MCP server that a thread brings along. */
export interface BroughtServer {
  readonly label: string;
  readonly url: string;
  /** Secret. */
  readonly headers: Readonly<Record<string, string>>;
}

const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
const headerValue = /^[\t\x20-\x7e\x80-\xff]{0,8192}$/;
/** What the connection itself sets. */
const ownHeaders: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "upgrade",
]);

/** Throws `invalid_field`. `taken`: labels that the configuration has. `field`: where the list stands in the request. */
export function checkThreadServers(
  servers: readonly BroughtServer[],
  { taken, field }: { taken: readonly string[]; field: string },
): void {
  const { count } = limits.threadServers;
  if (servers.length > count) throw invalidField(field, `may have at most ${count} entries`);
  const prefixes = taken.map(mcpPrefix);
  for (const [index, server] of servers.entries()) {
    const fault = faultOf(server, prefixes);
    if (fault) throw invalidField(`${field}[${index}].${fault.field}`, fault.rule);
    prefixes.push(mcpPrefix(server.label));
  }
}

interface Fault {
  readonly field: string;
  readonly rule: string;
}

function faultOf({ label, url, headers }: BroughtServer, prefixes: readonly string[]): Fault | undefined {
  const { labelUnits, urlUnits, headers: mostHeaders } = limits.threadServers;
  if (label === "" || label.length > labelUnits || label !== cleanSummary(label))
    return { field: "label", rule: `must be 1 to ${labelUnits} visible characters on one line` };
  if (isLike(mcpPrefix(label), prefixes))
    return { field: "label", rule: "must not be, or look like, that of another server" };
  if (url.length > urlUnits || !isServerUrl(url))
    return {
      field: "url",
      rule: `must be http or https, without name, password or fragment, at most ${urlUnits} characters`,
    };
  const entries = Object.entries(headers);
  if (entries.length > mostHeaders) return { field: "headers", rule: `may have at most ${mostHeaders} entries` };
  const wrong = entries.some(([name, value]) => !isHeader(name, value));
  return wrong
    ? { field: "headers", rule: "must have names and values that HTTP can send, and none of the connection's own" }
    : undefined;
}

/** Names of tools begin with it: they must say whose they are. */
export const isLike = (prefix: string, others: readonly string[]): boolean =>
  others.some((other) => other.startsWith(prefix) || prefix.startsWith(other));

export function isServerUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, hash } = new URL(value);
  return /^https?:$/.test(protocol) && [username, password, hash].every((part) => part === "");
}

const isHeader = (name: string, value: string): boolean =>
  headerName.test(name) && headerValue.test(value) && !ownHeaders.has(name.toLowerCase());
