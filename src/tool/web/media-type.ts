// What an answer is, by its Content-Type: a page, text, or something that a model cannot read.

export type MediaClass = "html" | "text" | "unknown" | "other";

/** `text/html`, in lower case and without parameters. Empty: the server does not say. */
export const mediaTypeOf = (contentType: string | undefined): string =>
  (contentType ?? "").split(";", 1)[0]!.trim().toLowerCase();

/** Undefined: the server does not say. */
export const charsetOf = (contentType: string | undefined): string | undefined =>
  /;\s*charset\s*=\s*"?\s*([\w.:-]{1,40})/i.exec(contentType ?? "")?.[1];

const pages: ReadonlySet<string> = new Set(["text/html", "application/xhtml+xml"]);

/** Text of these has no `text/` before it. */
const texts: ReadonlySet<string> = new Set([
  "application/ecmascript",
  "application/graphql",
  "application/javascript",
  "application/json",
  "application/jsonl",
  "application/json5",
  "application/sql",
  "application/toml",
  "application/x-javascript",
  "application/x-ndjson",
  "application/x-sh",
  "application/x-yaml",
  "application/xml",
  "application/yaml",
]);

export function mediaClassOf(mediaType: string): MediaClass {
  if (mediaType === "") return "unknown";
  if (pages.has(mediaType)) return "html";
  return mediaType.startsWith("text/") || texts.has(mediaType) || /\+(?:json|xml|yaml)$/.test(mediaType)
    ? "text"
    : "other";
}
