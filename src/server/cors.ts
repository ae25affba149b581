// Which browser pages may call: those of the listed origins, and those that the server itself has served.
import { cors } from "@connectrpc/connect";
import { HeddleError } from "../thread/errors.js";

/** How long a browser may remember a preflight. Chromium allows no more. */
const preflightSeconds = 7200;

export interface OriginPolicy {
  /** Headers every answer to this origin must carry. An origin that is not listed gets no permission. */
  responseHeaders(origin: string | undefined): Readonly<Record<string, string>>;
  /** Headers of the answer to a preflight, beside `responseHeaders`. */
  preflightHeaders(origin: string): Readonly<Record<string, string>>;
  /** Throws `permission_denied` for a page that is neither listed nor of this host. */
  check(origin: string | undefined, authority: string): void;
}

/** `methods`: what pages may use beside the methods of Connect. */
export function createOriginPolicy(allowedOrigins: readonly string[], methods: readonly string[] = []): OriginPolicy {
  const allowed = new Set(allowedOrigins.map(normalOrigin));
  const vary = Object.freeze({ vary: "Origin" });
  const none = allowed.size === 0 ? Object.freeze({}) : vary;
  const permissions = Object.freeze(preflightPermissions(methods));
  const perOrigin = new Map([...allowed].map((origin) => [origin, Object.freeze(originHeaders(origin))]));

  return {
    responseHeaders: (origin) => (origin === undefined ? none : (perOrigin.get(origin) ?? vary)),
    preflightHeaders: (origin) => (allowed.has(origin) ? permissions : {}),
    check(origin, authority) {
      if (origin === undefined || allowed.has(origin) || isSameHost(origin, authority)) return;
      throw new HeddleError(
        "permission_denied",
        "pages of this origin may not call the server: add the origin to `allowedOrigins` in the configuration",
      );
    },
  };
}

const originHeaders = (origin: string) => ({
  vary: "Origin",
  "access-control-allow-origin": origin,
  "access-control-expose-headers": cors.exposedHeaders.join(", "),
});

/** `*`: libraries send headers of their own, such as OpenAI's X-Stainless-Lang. It does not stand for Authorization. */
const preflightPermissions = (methods: readonly string[]) => ({
  "access-control-allow-methods": [...cors.allowedMethods, ...methods].join(", "),
  "access-control-allow-headers": [...cors.allowedHeaders, "Authorization", "*"].join(", "),
  "access-control-max-age": String(preflightSeconds),
});

/** A browser sends scheme and host in lower case and no path; an entry may have been typed otherwise. */
function normalOrigin(entry: string): string {
  const origin = entry.toLowerCase().replace(/\/$/, "");
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/*?#@\s]+$/.test(origin)) return origin;
  throw new HeddleError(
    "invalid_config",
    `"${entry}" is not an origin: write a scheme and a host such as https://app.example.com, without path or *`,
    { detail: { field: "allowedOrigins" } },
  );
}

/** The same host and port. The scheme may differ: a proxy in front may have ended TLS. */
function isSameHost(origin: string, authority: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, host } = new URL(origin);
  const own = `${protocol}//${authority}`; // With the origin's scheme, so that its default port is dropped on both sides.
  return URL.canParse(own) && new URL(own).host === host && host !== "";
}
