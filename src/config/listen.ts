// Reads `host:port`. Whether the address may be bound is the server's to decide (server/bind-policy.ts).
import { isIPv4, isIPv6 } from "node:net";

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export const listenRule = "host:port, such as 127.0.0.1:8787, localhost:0 or [::1]:8787 (port 0 picks a free one)";

const bracketed = /^\[([^\]]*)\]:(\d{1,5})$/;
const plain = /^([^:[\]]+):(\d{1,5})$/;
const hostName = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i;
const highestPort = 65_535;

/** The address, or undefined where the text breaks `listenRule`. A host is kept without brackets. */
export function parseListen(text: string): ListenAddress | undefined {
  const v6 = bracketed.exec(text);
  const match = v6 ?? plain.exec(text);
  const host = match?.[1] ?? "";
  const port = Number(match?.[2] ?? Number.NaN);
  const hostIsRight = v6 === null ? isIPv4(host) || (hostName.test(host) && !/^[\d.]+$/.test(host)) : isIPv6(host);
  return hostIsRight && port <= highestPort ? { host, port } : undefined;
}
