// A connection to one of the checked addresses, with TLS where the URL says so. Nothing here looks up a name.
import { connect as connectNet, isIP, type Socket } from "node:net";
import { addAbortSignal } from "node:stream";
import { connect as connectTls } from "node:tls";
import { oneLine } from "../words.js";
import { isSameAddress } from "./addresses.js";
import { within } from "./deadline.js";
import { webFailure } from "./failure.js";
import type { Place } from "./web-url.js";

/** Contract: the socket is connected to exactly this address. An abort before that rejects; after it, it changes nothing. */
export type Connect = (to: { address: string; port: number }, signal: AbortSignal) => Promise<Socket>;

/** A name may have many addresses; the first few are tried, in the resolver's order. */
const mostAttempts = 4;
/** An address that does not answer, such as one of IPv6 where only IPv4 works, must not use up the time of the others. */
const attemptMs = 5_000;

export const connectTcp: Connect = ({ address, port }, signal) =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted();
    // A host that is an address is not looked up.
    const socket = connectNet({ host: address, port });
    const onAbort = (): void => void socket.destroy(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    // The first error may not be the last, and none may go unheard.
    socket.on("error", reject);
    socket.once("close", () => signal.removeEventListener("abort", onAbort));
    socket.once("connect", () => {
      signal.removeEventListener("abort", onAbort);
      if (isSameAddress(address, socket.remoteAddress ?? "")) return resolve(socket);
      socket.destroy();
      reject(webFailure("EBLOCKED", "The connection did not lead to the address that was checked; try again"));
    });
  });

export interface ConnectOptions {
  readonly connect: Connect;
  /** Certificates of authorities to trust instead of the system's. */
  readonly ca: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * A socket that a request can be sent on; the signal's abort destroys it. Contract: `addresses` are checked, and there is at
 * least one.
 */
export async function connectTo(
  place: Place & { readonly isSecure: boolean },
  addresses: readonly string[],
  options: ConnectOptions,
): Promise<Socket> {
  const socket = addAbortSignal(options.signal, await connectAny(place, addresses, options));
  socket.on("error", () => {});
  if (!place.isSecure) return socket;
  try {
    return await secured(socket, place, options);
  } catch (reason) {
    socket.destroy();
    if (options.signal.aborted) throw reason;
    const code = (reason as NodeJS.ErrnoException).code ?? "no TLS";
    throw webFailure("ETLS", `No secure connection to ${oneLine(place.host)} (${code}); choose another source`, reason);
  }
}

async function connectAny(
  { host, port }: Place,
  addresses: readonly string[],
  { connect, signal }: ConnectOptions,
): Promise<Socket> {
  let last: unknown;
  for (const address of addresses.slice(0, mostAttempts)) {
    try {
      return await within({ signal, ms: attemptMs, late }, (attempt) => connect({ address, port }, attempt));
    } catch (reason) {
      signal.throwIfAborted();
      last = reason;
    }
  }
  const code = (last as NodeJS.ErrnoException).code ?? "no answer";
  const words = `${oneLine(host)} could not be reached (${code}); check the address, or try again later`;
  throw webFailure("ECONNECT", words, last);
}

const late = (): Error => Object.assign(new Error("no answer in time"), { code: "ETIMEDOUT" });

function secured(socket: Socket, { host }: Place, { ca, signal }: ConnectOptions): Promise<Socket> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const name = isIP(host) === 0 ? { servername: host } : {};
    const secure = connectTls({ socket, host, ...name, ...(ca !== undefined && { ca }), ALPNProtocols: ["http/1.1"] });
    secure.on("error", reject);
    // A peer that hangs up in the middle of the handshake, or a signal that does.
    secure.once("close", () => reject(Object.assign(new Error("closed"), { code: "ECONNRESET" })));
    secure.once("secureConnect", () => resolve(secure));
  });
}
