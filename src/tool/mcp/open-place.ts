// From where a server is to a session with it. The SDK is loaded with the first that is opened: it takes a while, and most starts of
// Heddle need none of it.
import type { Guard } from "../command/guard.js";
import type { AddressGuard } from "./http-fetch.js";
import type { OpenSession } from "./session.js";
import type { Place } from "./settings.js";

export interface OpenOptions {
  readonly processes: Guard;
  /** What Heddle calls itself, and its version. */
  readonly version: string;
  /** Of addresses that callers have named. */
  readonly addresses?: AddressGuard;
}

export function openPlace(place: Place, { processes, version, addresses }: OpenOptions): OpenSession {
  const client = { name: "heddle", version };
  return async (events, signal) => {
    const { openHttp, openStdio } = await import("./sdk-session.js");
    if (place.kind === "address") return openHttp({ ...place, guard: addresses }, client)(events, signal);
    const { StdioTransport } = await import("./stdio-transport.js");
    const transport = new StdioTransport({ program: place, guard: processes, onLog: events.onLog });
    return openStdio(() => transport, client)(events, signal);
  };
}
