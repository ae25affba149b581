// From a document's bytes to its passages, as the store keeps them. Whatever could hold up the server or take its memory (HTML,
// PDF, large texts) is done in threads of their own, bounded in time and memory.
import { HeddleError } from "../../thread/errors.js";
import { moduleBeside } from "../../tool/offload/built.js";
import { offload } from "../../tool/offload/offload.js";
import { ToolFailure } from "../../tool/tool.js";
import { within } from "../../tool/web/deadline.js";
import type { HtmlPage, ReadablePage } from "../../tool/web/read-html.js";
import { type CheckedUpload, unsupported } from "../check-upload.js";
import { documentLimits } from "../document-limits.js";
import { decodeDocument } from "./decode-document.js";
import { linesOf } from "./document-text.js";
import { type MadeLeaves, makeLeaves, type Text } from "./make-leaves.js";
import type { PdfJob, PdfPages, PdfProblem } from "./read-pdf.js";

/** Raised whenever the same bytes would give other passages. */
export const readerVersion = 1;

/** A text that is not longer is cut in a few milliseconds. */
const smallUnits = 128 * 1024;
/** The largest documents of honest people take half of it. */
const readMs = 60_000;
const heapMb = 1_024;

const readPdfUrl = moduleBeside(import.meta.url, "read-pdf");
const makeLeavesUrl = moduleBeside(import.meta.url, "make-leaves");
const readHtmlUrl = moduleBeside(import.meta.url, "../../tool/web/read-html");

/** Rejects with `unsupported_document` when it cannot be read, with `limit_exceeded` when there is too much in it. */
export const readDocument = (upload: CheckedUpload, signal: AbortSignal, limitMs = readMs): Promise<MadeLeaves> =>
  within({ signal, ms: limitMs, late: tooTangled }, async (inTime) => cut(await textOf(upload, inTime), inTime));

async function textOf({ mediaType, name, data }: CheckedUpload, signal: AbortSignal): Promise<Text> {
  if (mediaType === "application/pdf") return pdfText(data, signal);
  const text = decodeDocument(data);
  if (mediaType === "text/html") return { text: await markdownOf(text, name, signal), hasHeadings: true };
  return { text, hasHeadings: mediaType === "text/markdown" };
}

function cut(text: Text, signal: AbortSignal): MadeLeaves | Promise<MadeLeaves> {
  const units = text.text?.length ?? Number.POSITIVE_INFINITY;
  return units <= smallUnits ? makeLeaves(text) : offloaded<Text, MadeLeaves>(makeLeavesUrl, text, signal);
}

async function markdownOf(html: string, name: string, signal: AbortSignal): Promise<string> {
  // Links that are relative lead nowhere: nobody knows where the document was found.
  const page = { html, url: "about:blank" };
  const { title, markdown } = await offloaded<HtmlPage, ReadablePage>(readHtmlUrl, page, signal);
  const heading = title.replace(/\s+/g, " ").trim();
  if (
    heading === "" ||
    heading === name ||
    linesOf(markdown)
      .slice(0, 5)
      .some((line) => line === `# ${heading}`)
  )
    return markdown;
  return `# ${heading}\n\n${markdown}`;
}

async function pdfText(bytes: Uint8Array, signal: AbortSignal): Promise<Text> {
  const job: PdfJob = { bytes, mostPages: documentLimits.pdfPages, mostUnits: documentLimits.bytes };
  return { pages: await offloaded<PdfJob, PdfPages>(readPdfUrl, job, signal), hasHeadings: false };
}

async function offloaded<Job, Result>(module: URL, job: Job, signal: AbortSignal): Promise<Result> {
  try {
    return await offload<Job, Result>(module, job, { signal, heapMb });
  } catch (reason) {
    if (signal.aborted) throw signal.reason;
    throw readingProblem(reason);
  }
}

function readingProblem(reason: unknown): Error {
  if (!(reason instanceof ToolFailure)) return tooTangled(reason);
  if (reason.code === "EAGAIN")
    return new HeddleError("limit_exceeded", reason.message, { detail: { limit: "threads" }, cause: reason });
  if (reason.code === "PASSAGES") return tooManyPassages();
  return unsupported(pdfWords[reason.code as PdfProblem] ?? tangledWords, reason);
}

const pdfWords: Readonly<Record<PdfProblem, string>> = {
  ENCRYPTED: "The PDF is locked with a password: save it without one",
  BROKEN: "The PDF is broken, or no PDF: open it and save it again",
  TOO_LARGE: `There is too much in the PDF: split it (at most ${documentLimits.pdfPages} pages)`,
};

const tangledWords = "The document is too large or too tangled to be read: split it, or save it as plain text";
const tooTangled = (cause?: unknown): HeddleError => unsupported(tangledWords, cause);

const tooManyPassages = (): HeddleError =>
  new HeddleError("limit_exceeded", `A document may have ${documentLimits.passages} passages: split it`, {
    detail: { limit: "documents.passages" },
  });
