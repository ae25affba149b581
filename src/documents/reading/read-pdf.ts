// The text of a PDF, page by page. Runs in a thread of its own (read-document.ts), with bounded memory: a PDF of a few bytes can
// unpack to as much as it likes.
import { getDocumentProxy } from "unpdf";
import { ToolFailure } from "../../tool/tool.js";
import { boundBuffers } from "./bound-buffers.js";

export interface PdfJob {
  readonly bytes: Uint8Array;
  readonly mostPages: number;
  /** Of all pages together. */
  readonly mostUnits: number;
}

/** Each page's lines. */
export type PdfPages = readonly (readonly string[])[];

/** Codes of the failures that read-document.ts has words for. */
export type PdfProblem = "ENCRYPTED" | "BROKEN" | "TOO_LARGE";

/** What a PDF may unpack, all in all: more than any honest one within the size of an upload. */
const bufferBytes = 1024 * 1024 * 1024;

export default async function readPdf({ bytes, mostPages, mostUnits }: PdfJob): Promise<PdfPages> {
  // pdf.js goes on after most errors, and gives what it could read, or nothing: here neither would do.
  const exhausted = boundBuffers(bufferBytes).then(() => Promise.reject(problem("TOO_LARGE")));
  return Promise.race([exhausted, readPages(bytes, { mostPages, mostUnits }).catch(worded)]);
}

function worded(reason: unknown): never {
  if (reason instanceof ToolFailure) throw reason;
  throw problem(isLocked(reason) ? "ENCRYPTED" : "BROKEN", reason);
}

async function readPages(bytes: Uint8Array, { mostPages, mostUnits }: Omit<PdfJob, "bytes">): Promise<PdfPages> {
  const pdf = await getDocumentProxy(bytes, { verbosity: 0, stopAtErrors: false });
  if (pdf.numPages > mostPages) throw problem("TOO_LARGE");
  const pages: string[][] = [];
  let units = 0;
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const text = items.map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : "")).join("");
    units += text.length;
    if (units > mostUnits) throw problem("TOO_LARGE");
    pages.push(text.split("\n").map((line) => line.trimEnd()));
    page.cleanup();
  }
  return pages;
}

const isLocked = (reason: unknown): boolean => reason instanceof Error && reason.name === "PasswordException";

const problem = (code: PdfProblem, cause?: unknown): ToolFailure =>
  new ToolFailure(cause instanceof Error ? cause.message : code, { code, cause });
