// Placeholder until the loader lands: the shape that everything is built from.
export interface Config {
  readonly listen: { readonly host: string; readonly port: number };
  readonly dataDir: string;
  readonly logLevel: string;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** Static bearer tokens. Empty: nobody is asked for one, and only loopback may be bound. */
  readonly tokens: readonly { readonly name: string; readonly token: string }[];
  /** Browser origins that may call (CORS). */
  readonly allowedOrigins: readonly string[];
  /** Texts that must never be stored, besides those that look like keys. */
  readonly secrets: readonly string[];
  readonly limits: {
    readonly connections: number;
    readonly streamsPerConnection: number;
    readonly messageBytes: number;
    readonly headerBytes: number;
  };
  readonly timing: {
    readonly heartbeatMs: number;
    readonly pingMs: number;
    readonly pingTimeoutMs: number;
    readonly drainMs: number;
    readonly streamMaxAgeMs: number;
  };
}
