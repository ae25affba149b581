// Bearer tokens, compared without telling by time how much of one was right.
import { createHash, timingSafeEqual } from "node:crypto";
import { HeddleError } from "../thread/errors.js";
import type { Token } from "./options.js";

/** Who asks where no token is required. No token can have this name. */
export const localPrincipal = "(local)";

/** The name of the token in an `authorization` header. Throws `unauthenticated`. */
export type Authenticate = (authorization: string | undefined) => string;

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
const bearer = /^bearer +(\S+) *$/i;

export function createAuthenticate(tokens: readonly Token[]): Authenticate {
  if (tokens.length === 0) return () => localPrincipal;
  const known = tokens.map(({ name, token }) => ({ name, digest: digest(checked(name, token)) }));

  return (authorization) => {
    if (authorization === undefined) throw unauthenticated("a token is required: send `authorization: Bearer <token>`");
    const given = digest(bearer.exec(authorization)?.[1] ?? "");
    let principal: string | undefined;
    // Every token is compared, whichever matches: the time says nothing. Digests have one length, whatever was sent.
    for (const candidate of known) if (timingSafeEqual(candidate.digest, given)) principal ??= candidate.name;
    if (principal === undefined) throw unauthenticated("the token is not one of those in the server's configuration");
    return principal;
  };
}

const unauthenticated = (message: string) => new HeddleError("unauthenticated", message);

function checked(name: string, token: string): string {
  if (/^\S+$/.test(token)) return token;
  throw new HeddleError(
    "invalid_config",
    `the token named "${name}" is empty or has spaces: give it a value without any`,
    {
      detail: { field: "tokens" },
    },
  );
}
