// Files that code has made, as parts of its call: each with an id of its own, a media type, and bounds on how many and how large.
import { imageType } from "../reading/image-type.js";
import type { ToolContent } from "../tool.js";
import { bounds } from "./bounds.js";
import type { MadeFile } from "./run-code.js";

export interface ProducedFile {
  readonly path: string;
  /** Names the part. Undefined: it was not kept. */
  readonly contentId?: string;
  readonly mediaType: string;
  readonly bytes: number;
}

/** In the order in which they came. Of more than can be kept, the others are named. */
export function producedFiles(made: readonly MadeFile[]): { files: ProducedFile[]; content: ToolContent[] } {
  const content: ToolContent[] = [];
  const files = made.map(({ path, bytes, data }): ProducedFile => {
    const mediaType = mediaTypeOf(path, data);
    if (data === undefined || content.length >= bounds.filesPerCall) return { path, mediaType, bytes };
    const contentId = contentIdOf(path, content.length + 1);
    content.push({ id: contentId, mediaType, data });
    return { path, contentId, mediaType, bytes };
  });
  return { files, content };
}

/** Also a plain name of a file, on every system: `heddle call --save` takes no other. */
const idUnits = 63;

/** `file-1-plot.png`: the number makes it the only one, the name is for people. */
function contentIdOf(path: string, number: number): string {
  const name = path
    .slice(path.lastIndexOf("/") + 1)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-");
  const ending = /\.[a-z0-9]{1,8}$/.exec(name)?.[0] ?? "";
  const start = `file-${number}-`;
  const room = idUnits - start.length - ending.length;
  return `${start}${name.slice(0, name.length - ending.length).slice(0, room)}${ending}`.replace(/\.+$/, "");
}

const byEnding: Readonly<Record<string, string>> = {
  txt: "text/plain",
  log: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  html: "text/html",
  css: "text/css",
  js: "text/javascript",
  py: "text/x-python",
  json: "application/json",
  xml: "application/xml",
  pdf: "application/pdf",
  zip: "application/zip",
  svg: "image/svg+xml",
};

/** Pictures by their first bytes, others by their names; text where it can be nothing else. */
function mediaTypeOf(path: string, data: Buffer | undefined): string {
  const image = data && imageType(data);
  if (image) return image;
  const ending = /\.([a-z0-9]+)$/.exec(path.toLowerCase())?.[1] ?? "";
  const known = Object.hasOwn(byEnding, ending) ? byEnding[ending] : undefined;
  return known ?? (data && isText(data) ? "text/plain" : "application/octet-stream");
}

function isText(data: Buffer): boolean {
  try {
    return !new TextDecoder("utf-8", { fatal: true }).decode(data).includes("\0");
  } catch {
    return false;
  }
}
