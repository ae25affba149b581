// The rules that names and sizes of documents obey, in one place. What breaks one is told by field, rule and what to do.
import { HeddleError, invalidField } from "../thread/errors.js";
import { documentLimits } from "./document-limits.js";

export const mediaTypes = ["text/plain", "text/markdown", "text/html", "application/pdf"] as const;
export type MediaType = (typeof mediaTypes)[number];

export interface Upload {
  /** Empty: `default`. */
  readonly collection: string;
  readonly name: string;
  /** Empty: by the ending of the name. */
  readonly mediaType: string;
  readonly data: Uint8Array;
}

export interface CheckedUpload extends Upload {
  readonly mediaType: MediaType;
}

export const defaultCollection = "default";

/** By the ending of a name, in lower case. */
const endings: Readonly<Record<string, MediaType>> = {
  txt: "text/plain",
  text: "text/plain",
  log: "text/plain",
  rst: "text/plain",
  adoc: "text/plain",
  md: "text/markdown",
  markdown: "text/markdown",
  mdx: "text/markdown",
  html: "text/html",
  htm: "text/html",
  xhtml: "text/html",
  pdf: "application/pdf",
};

/** Throws `invalid_field` or `unsupported_document`. `redact` takes secrets out of a text. */
export function checkUpload(upload: Upload, redact: (text: string) => string): CheckedUpload {
  const collection = checkCollection(upload.collection || defaultCollection);
  const name = checkName(upload.name);
  if (redact(name) !== name) throw invalidField("name", "must hold no secret: it is shown to everyone who searches");
  if (upload.data.length > documentLimits.bytes)
    throw invalidField("data", `must have at most ${documentLimits.bytes} bytes: split the document`);
  return { collection, name, mediaType: checkMediaType(upload.mediaType, name), data: upload.data };
}

export function checkCollection(collection: string): string {
  if (/^[a-z0-9][a-z0-9._-]{0,63}$/.test(collection)) return collection;
  throw invalidField("collection", "must be 1 to 64 characters of a-z 0-9 - _ . that start with a letter or digit");
}

export function checkName(name: string): string {
  const rule = `must be 1 to ${documentLimits.nameUnits} UTF-16 units on one line`;
  if (name.length === 0 || name.length > documentLimits.nameUnits) throw invalidField("name", rule);
  if (/[\p{Cc}\p{Surrogate}\u2028\u2029]/u.test(name))
    throw invalidField("name", `${rule}, without control characters`);
  if (!/\S/.test(name)) throw invalidField("name", `${rule}, and not blank`);
  return name;
}

export function checkQuery(query: string): string {
  if (query.length > 0 && query.length <= documentLimits.queryUnits) return query;
  throw invalidField("query", `must have 1 to ${documentLimits.queryUnits} UTF-16 units`);
}

/** What a document of the name is by its ending; undefined where that says nothing. */
export function mediaTypeByName(name: string): MediaType | undefined {
  const ending = /\.([a-z]{1,10})$/.exec(name.toLowerCase())?.[1] ?? "";
  return Object.hasOwn(endings, ending) ? endings[ending] : undefined;
}

function checkMediaType(given: string, name: string): MediaType {
  const found = given === "" ? mediaTypeByName(name) : mediaTypes.find((type) => type === bare(given));
  if (found !== undefined) return found;
  throw unsupported(
    given === ""
      ? `The name does not say what the document is: set media_type to one of ${mediaTypes.join(", ")}`
      : `Documents of this kind cannot be read: use one of ${mediaTypes.join(", ")}`,
  );
}

/** `Text/HTML; charset=utf-8` is `text/html`. */
const bare = (mediaType: string): string => mediaType.split(";", 1)[0]!.trim().toLowerCase();

export const unsupported = (message: string, cause?: unknown): HeddleError<"unsupported_document"> =>
  new HeddleError("unsupported_document", message, { cause });
