// What an address may look like, before anybody is asked anything: http or https, no credentials, a port of the web. The
// parser is Node's own, which spells every form of an IPv4 address (127.1, 0x7f.1, 2130706433, ①②⑦.0.0.1) as one.
import { isIP } from "node:net";
import { oneLine } from "../words.js";
import { isPublicAddress } from "./addresses.js";
import { isBadPort } from "./bad-ports.js";
import { webFailure } from "./failure.js";

export const longestUrlUnits = 4_096;

/** Where a request goes. */
export interface Place {
  /** A name without the dot at its end, or an address without brackets. */
  readonly host: string;
  readonly port: number;
  /** The host is an address, and no name needs to be asked for. */
  readonly isAddress: boolean;
  /** The operator has opened it (`allowHosts`): it may be private. */
  readonly isOpened: boolean;
}

/**
 * The URL and its place, without its fragment. Throws `EBADURL` for what is no address of the web, and `EBLOCKED` for a
 * place that is not public by its looks alone. A relative address is read from `base`.
 */
export function checkedUrl(
  text: string,
  { allowHosts, base }: { allowHosts: readonly string[]; base?: URL },
): { url: URL; place: Place } {
  const url = text.length <= longestUrlUnits && URL.canParse(text, base) ? new URL(text, base) : undefined;
  if (url === undefined)
    throw webFailure("EBADURL", `Not an address: ${oneLine(text)}; give one such as https://example.com/page`);
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw webFailure("EBADURL", `Only http and https can be fetched, not ${oneLine(url.protocol)}; give a web address`);
  if (url.username !== "" || url.password !== "")
    throw webFailure("EBADURL", `An address must hold no name or password: ask for ${oneLine(url.host)} without them`);
  url.hash = "";
  const place = placeOf(url, allowHosts);
  if (place.host === "") throw webFailure("EBADURL", `Not an address: ${oneLine(text)}; it names no host`);
  if (!place.isOpened) refuseByLooks(place);
  return { url, place };
}

/** `host:port` as `allowHosts` and a URL both spell it. Undefined: it is no such entry. */
export function hostEntry(text: string): string | undefined {
  const [, port] = /^[^/@?#\\\s]+:(\d{1,5})$/.exec(text) ?? [];
  if (port === undefined || Number(port) > 65_535 || !URL.canParse(`http://${text}`)) return undefined;
  const url = new URL(`http://${text}`);
  return entryOf(bareHost(url), Number(port));
}

function placeOf(url: URL, allowHosts: readonly string[]): Place {
  const host = bareHost(url);
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  const entry = entryOf(host, port);
  return {
    host,
    port,
    isAddress: isIP(host) !== 0,
    isOpened: allowHosts.some((allowed) => hostEntry(allowed) === entry),
  };
}

function refuseByLooks({ host, port, isAddress }: Place): void {
  const isLocal = host === "localhost" || host.endsWith(".localhost");
  if (isLocal || (isAddress && !isPublicAddress(host))) throw notPublic(host);
  if (isBadPort(port))
    throw webFailure("EBLOCKED", `Port ${port} of ${oneLine(host)} is not one of the web; give an address without it`);
}

export const notPublic = (host: string) =>
  webFailure(
    "EBLOCKED",
    `${oneLine(host)} is not on the public internet; fetch a public address, or ask the operator to open it (agent.web.allowHosts)`,
  );

const bareHost = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");

const entryOf = (host: string, port: number): string => `${host}|${port}`;
