// Who makes a request, as the edge knows it by its token, for the services that record it.
import { type ContextValues, createContextKey, createContextValues } from "@connectrpc/connect";
import { localPrincipal } from "../../server/tokens.js";

/** The token's name. Empty where nobody is asked for one. */
export const principalKey = createContextKey("", { description: "principal" });

export const contextOf = (principal: string): ContextValues =>
  createContextValues().set(principalKey, principal === localPrincipal ? "" : principal);
