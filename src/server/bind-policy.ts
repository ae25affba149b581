// Which addresses may be bound, and which Host names a server without tokens answers to.
import { isIPv4, isIPv6 } from "node:net";
import { HeddleError } from "../thread/errors.js";

/** Without tokens whoever reaches the port may do everything, so that only this machine may reach it. */
export function checkBind(host: string, options: { hasTokens: boolean }): void {
  if (options.hasTokens || isLoopback(host)) return;
  throw new HeddleError(
    "invalid_config",
    `refusing to listen on ${host || "every address"} without tokens, because anybody there could use the server: ` +
      "set HEDDLE_TOKEN, add an entry to `tokens` in the configuration, or listen on 127.0.0.1",
    { detail: { field: "tokens" } },
  );
}

/** True for addresses and names that mean this machine. An empty host means every address. */
export function isLoopback(host: string): boolean {
  const name = unbracketed(host.toLowerCase());
  if (isIPv4(name)) return name.startsWith("127.");
  if (isIPv6(name)) return new URL(`http://[${name}]`).hostname === "[::1]" || mappedLoopback.test(name);
  return name === "localhost";
}

const mappedLoopback = /^::ffff:127\.\d+\.\d+\.\d+$/;

/**
 * Refuses a Host header that names another machine. A page of a stranger whose name was made to point at 127.0.0.1
 * (DNS rebinding) is same-origin in the browser's eyes, and only its Host gives it away.
 */
export function checkHost(authority: string, configuredHost: string): void {
  const name = hostName(authority);
  if (isLoopback(name) || name === unbracketed(configuredHost.toLowerCase())) return;
  throw new HeddleError(
    "permission_denied",
    "the Host header does not name this machine: use localhost or 127.0.0.1, or configure `tokens` to serve other names",
  );
}

/** The name of `name:port`, in lower case, without the brackets of IPv6. */
function hostName(authority: string): string {
  return unbracketed(/^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(authority.toLowerCase())?.[1] ?? "");
}

export function unbracketed(host: string): string {
  return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
}
