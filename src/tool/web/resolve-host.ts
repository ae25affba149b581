// From a place to the addresses that may be connected to. The name is asked for once; one address that is not public spoils
// the whole answer, and what is returned is what gets connected to: a second answer, of another kind, is never heard.
import { lookup } from "node:dns/promises";
import { oneLine } from "../words.js";
import { isPublicAddress } from "./addresses.js";
import { webFailure } from "./failure.js";
import { notPublic, type Place } from "./web-url.js";

/** All addresses of a name. Contract: rejects, or answers with none, when there is no such name. */
export type Resolver = (hostname: string) => Promise<readonly string[]>;

export const systemResolver: Resolver = async (hostname) =>
  (await lookup(hostname, { all: true, verbatim: true })).map(({ address }) => address);

export async function checkedAddresses(
  { host, isAddress, isOpened }: Place,
  { resolver, signal }: { resolver: Resolver; signal: AbortSignal },
): Promise<readonly string[]> {
  const addresses = isAddress ? [host] : await asked(host, resolver, signal);
  if (addresses.length === 0) throw noSuchHost(host);
  if (!isOpened && !addresses.every(isPublicAddress)) throw notPublic(host);
  return addresses;
}

/** The system's resolver cannot be stopped; whoever called is not kept waiting for it. */
async function asked(host: string, resolver: Resolver, signal: AbortSignal): Promise<readonly string[]> {
  signal.throwIfAborted();
  const { promise: calledOff, stop } = abortOf(signal);
  try {
    return await Promise.race([resolver(host), calledOff]);
  } catch (reason) {
    if (signal.aborted) throw reason;
    throw noSuchHost(host, reason);
  } finally {
    stop();
  }
}

function abortOf(signal: AbortSignal): { promise: Promise<never>; stop: () => void } {
  let stop = (): void => {};
  const promise = new Promise<never>((_, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    stop = () => signal.removeEventListener("abort", onAbort);
  });
  return { promise, stop };
}

const noSuchHost = (host: string, cause?: unknown) =>
  webFailure(
    "ENOTFOUND",
    `There is no host ${oneLine(host)}, or its name cannot be looked up now; check the address`,
    cause,
  );
