// From an answer to its text. A page of HTML is taken apart in a thread of its own, bounded in time and memory: a hostile one
// must not keep the server from its other work.
import { moduleBeside } from "../offload/built.js";
import { offload } from "../offload/offload.js";
import type { ToolContext } from "../tool.js";
import { oneLine } from "../words.js";
import { within } from "./deadline.js";
import { decodeText } from "./decode-text.js";
import { webFailure } from "./failure.js";
import type { Answer } from "./guarded-fetch.js";
import { mediaClassOf, mediaTypeOf } from "./media-type.js";
import type { HtmlPage, ReadablePage } from "./read-html.js";
import { sizeWords } from "./size-words.js";

const readHtmlUrl = moduleBeside(import.meta.url, "read-html");
/** The largest pages of honest people take half of it. */
const readMs = 20_000;
const heapMb = 512;

export interface PageText {
  /** One line. Empty when it has none. */
  readonly title: string;
  readonly text: string;
  readonly mediaType: string;
}

export async function readPage(
  { url, headers, body }: Answer,
  context: Pick<ToolContext, "signal" | "phase">,
  limitMs = readMs,
): Promise<PageText> {
  const contentType = headers["content-type"];
  const text = decodeText(body, contentType);
  if (!isHtml(mediaTypeOf(contentType), text)) return plainText(text, url);
  context.phase("interpreting", `Reading ${sizeWords(body.length)}`);
  const unreadable = (cause?: unknown) =>
    webFailure(
      "EUNREADABLE",
      `The page of ${oneLine(url.host)} is too tangled to be read; choose another source`,
      cause,
    );
  const page = await within({ signal: context.signal, ms: limitMs, late: unreadable }, async (signal) => {
    try {
      return await offload<HtmlPage, ReadablePage>(readHtmlUrl, { html: text, url: url.href }, { signal, heapMb });
    } catch (reason) {
      throw unreadable(reason);
    }
  });
  return { title: oneLine(page.title), text: clean(page.markdown), mediaType: "text/markdown" };
}

function isHtml(mediaType: string, text: string): boolean {
  const kind = mediaClassOf(mediaType);
  return (
    kind === "html" || (kind === "unknown" && /^\s*<(?:!doctype html|html|head|body)\b/i.test(text.slice(0, 1_024)))
  );
}

function plainText(text: string, { host }: URL): PageText {
  if (text.includes("\0"))
    throw webFailure("EMEDIATYPE", `What ${oneLine(host)} has there is not text; choose another address`);
  return { title: "", text: clean(text), mediaType: "text/plain" };
}

/** Terminals act upon what is left out here. */
const clean = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
  text.replace(/\r\n?/g, "\n").replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g, "");
