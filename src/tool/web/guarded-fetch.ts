// Fetches over http or https without letting a model reach what only this machine can: an address is checked by its looks,
// its name is looked up once, every address it has must be public, the connection goes to one of those, and each redirect
// starts over. The operator can open single hosts (`allowHosts`). All of it is bounded in time and bytes.
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { oneLine } from "../words.js";
import { connectTcp, connectTo } from "./connect.js";
import { within } from "./deadline.js";
import { webFailure } from "./failure.js";
import { readBody } from "./read-body.js";
import { checkedAddresses, systemResolver } from "./resolve-host.js";
import { sendRequest, type WebRequest } from "./send-request.js";
import type { Network } from "./settings.js";
import { checkedUrl, type Place } from "./web-url.js";

const mostRedirects = 5;
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export interface GuardedFetch {
  readonly signal: AbortSignal;
  readonly allowHosts: readonly string[];
  readonly maxBytes: number;
  readonly timeoutMs: number;
  /** Undefined: GET. With a body it is a POST, and follows no redirect. */
  readonly body?: string;
  /** For the first origin only: a redirect to another is not given them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Undefined: 5. */
  readonly maxRedirects?: number;
  readonly network?: Network;
  /** Sees the last answer before its body is read; what it throws ends the fetch. */
  onHead?(head: Head): void;
  /** As they come over the wire; the total where it was announced. */
  onBytes?(received: number, total: number | undefined): void;
}

/** An answer up to its body. */
export interface Head {
  /** Where the last redirect led. */
  readonly url: URL;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

export interface Answer extends Head {
  /** Unpacked. */
  readonly body: Buffer;
}

/** Rejects with a ToolFailure whose code is a WebFailureCode, with what `onHead` throws, or with the signal's reason. */
export async function guardedFetch(address: string, options: GuardedFetch): Promise<Answer> {
  const { signal, timeoutMs, allowHosts } = options;
  const { url } = checkedUrl(address, { allowHosts });
  const late = () =>
    webFailure(
      "ETIMEDOUT",
      `${oneLine(url.host)} took longer than ${timeoutMs / 1_000} s; try again, or choose another source`,
    );
  return within({ signal, ms: timeoutMs, late }, (signal) => fetchFrom(url, { ...options, signal }));
}

async function fetchFrom(first: URL, options: GuardedFetch): Promise<Answer> {
  const { allowHosts, maxRedirects = options.body === undefined ? mostRedirects : 0 } = options;
  let from: URL | undefined;
  let address = first.href;
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const { url, place } = checkedUrl(address, { allowHosts, ...(from && { base: from }) });
    if (from?.protocol === "https:" && url.protocol === "http:")
      throw webFailure(
        "EREDIRECT",
        `${oneLine(from.host)} leads from https to http, at ${oneLine(url.href)}; fetch that yourself if it is right`,
      );
    const socket = await connected(url, place, options);
    try {
      const answer = await sendRequest(url, requestFor(url, first, options), socket);
      const next = redirectOf(answer);
      if (next === undefined) return await answered(url, answer, options);
      address = next;
      from = url;
    } finally {
      socket.destroy();
    }
  }
  throw webFailure("EREDIRECT", redirectWords(first, maxRedirects));
}

async function connected(url: URL, place: Place, { signal, network = {} }: GuardedFetch) {
  const { resolver = systemResolver, connect = connectTcp, ca } = network;
  const addresses = await checkedAddresses(place, { resolver, signal });
  const isSecure = url.protocol === "https:";
  return connectTo({ ...place, isSecure }, addresses, { connect, ca, signal });
}

const requestFor = (url: URL, first: URL, { headers = {}, body }: GuardedFetch): WebRequest => ({
  method: body === undefined ? "GET" : "POST",
  headers: url.origin === first.origin ? headers : {},
  body,
});

const redirectOf = ({ statusCode, headers }: IncomingMessage): string | undefined =>
  redirectStatuses.has(statusCode!) ? headers.location : undefined;

async function answered(url: URL, answer: IncomingMessage, options: GuardedFetch): Promise<Answer> {
  const head: Head = { url, status: answer.statusCode!, headers: answer.headers };
  options.onHead?.(head);
  const { signal, maxBytes, onBytes = () => {} } = options;
  const body = await readBody(answer, { host: url.host, maxBytes, onBytes });
  signal.throwIfAborted(); // The connection was ended then, and with it a body that has no other end.
  return { ...head, body };
}

const redirectWords = ({ host }: URL, most: number): string =>
  most === 0
    ? `${oneLine(host)} answers with a redirect where none is expected; check the address`
    : `${oneLine(host)} leads on more than ${most} times; choose another source`;
