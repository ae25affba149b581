// What a server says of its tools for people and for policy: a title, and hints. They are its own words about itself; the operator's
// word comes before them, and what they do not say is asked for. Names of tools are never guessed from.
import { cleanSummary } from "../../thread/summary.js";
import type { Kind, Policy } from "../tool.js";

export interface Annotated {
  readonly name: string;
  readonly title?: unknown;
  readonly annotations?: unknown;
}

export function titleOf({ name, title, annotations }: Annotated): string {
  const titles = [title, hintsOf(annotations)["title"], name];
  return titles.map((text) => (typeof text === "string" ? cleanSummary(text) : "")).find((text) => text !== "") ?? "";
}

export function kindAndPolicy({ annotations }: Annotated): { readonly kind: Kind; readonly policy: Policy } {
  const { readOnlyHint, destructiveHint, openWorldHint } = hintsOf(annotations);
  if (readOnlyHint === true)
    return openWorldHint === false ? { kind: "read", policy: "allow" } : { kind: "fetch", policy: "ask" };
  return { kind: destructiveHint === true ? "execute" : "other", policy: "ask" };
}

const hintsOf = (annotations: unknown): Readonly<Record<string, unknown>> =>
  typeof annotations === "object" && annotations !== null ? (annotations as Record<string, unknown>) : {};
