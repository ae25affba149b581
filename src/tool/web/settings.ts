// What an operator says about reaching out, and what tests put in place of the network.
import type { Connect } from "./connect.js";
import type { Resolver } from "./resolve-host.js";

export interface WebSettings {
  /** `host:port` of single hosts that may be private. */
  readonly allowHosts: readonly string[];
  /** The most that is read of one answer, on the wire and unpacked. */
  readonly maxBytes: number;
  /** For all of one fetch: names, redirects, the answer. */
  readonly timeoutMs: number;
  /** Undefined: there is nothing to search with. */
  readonly search: SearchSettings | undefined;
}

export interface SearchSettings {
  readonly backend: "searxng" | "brave" | "tavily";
  /** Undefined: the service's own. Its origin may be private. */
  readonly url: string | undefined;
  /** Secret. Undefined: none is asked for. */
  readonly key: string | undefined;
}

/** Undefined: the system's own. */
export interface Network {
  readonly resolver?: Resolver;
  readonly connect?: Connect;
  /** Certificates of authorities to trust instead of the system's. */
  readonly ca?: string;
}
