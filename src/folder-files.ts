// A folder as a collection of documents sees it: the files that Git does not ignore and that are not hidden, and each of them as
// a document or with the reason why it is none. Links are not followed, and nothing outside the folder is read.
import { isUtf8 } from "node:buffer";
import { mediaTypeByName } from "./documents/check-upload.js";
import { documentLimits } from "./documents/document-limits.js";
import { compileGlob } from "./tool/search/glob-pattern.js";
import { Missed, walk } from "./tool/search/walk.js";
import { ToolFailure } from "./tool/tool.js";
import { readWhole } from "./tool/workspace/read-file.js";
import { Workspace } from "./tool/workspace/workspace.js";

export interface Choice {
  /** Where there are any, one of them must match. One without a slash is about names, wherever they are. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

export interface Listing {
  /** From the folder, with slashes, in order. */
  readonly files: readonly string[];
  /** What would be a document if it were a file. */
  readonly skipped: readonly { readonly path: string; readonly why: string }[];
  /** Something was not seen: what is missing from the list may still be there. */
  readonly isIncomplete: boolean;
}

export type ReadFile =
  | { readonly outcome: "document"; readonly data: Uint8Array; readonly mediaType: string }
  /** No document, and nothing is wrong. */
  | { readonly outcome: "skipped"; readonly why: string }
  | { readonly outcome: "failed"; readonly why: string };

/** Whether a path is meant. Throws with words about the pattern that is none. */
export function chooserOf({ include, exclude }: Choice): (path: string) => boolean {
  const [included, excluded] = [include, exclude].map((patterns) =>
    patterns.map((pattern) => compileGlob(pattern, { basename: true })),
  ) as [Matcher[], Matcher[]];
  return (path) =>
    (included.length === 0 || included.some((matches) => matches(path))) && !excluded.some((matches) => matches(path));
}

type Matcher = (path: string) => boolean;

/** Holds the folder open. Contract: closed by whoever opened it. */
export class FolderFiles {
  readonly #workspace: Workspace;

  private constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  static async open(directory: string): Promise<FolderFiles> {
    return new FolderFiles(await Workspace.open(directory));
  }

  async list(isMeant: (path: string) => boolean, signal: AbortSignal): Promise<Listing> {
    const missed = new Missed();
    const files: string[] = [];
    const skipped: { path: string; why: string }[] = [];
    await using start = await this.#workspace.openDirectory(".");
    for await (const { path, type } of walk({ workspace: this.#workspace, start, includeIgnored: false }, missed)) {
      signal.throwIfAborted();
      if (isHidden(path) || !isMeant(path)) continue;
      if (type === "file") files.push(path);
      else skipped.push({ path, why: type === "symlink" ? "links are not followed" : "not a regular file" });
    }
    return { files, skipped, isIncomplete: missed.stopped || missed.directories > 0 };
  }

  async read(path: string): Promise<ReadFile> {
    try {
      const file = await this.#workspace.openFile(path);
      await using _handle = file.handle;
      return documentOf(path, await readWhole(file, path, documentLimits.bytes));
    } catch (reason) {
      if (!(reason instanceof ToolFailure)) throw reason;
      if (reason.code === "ENOENT") return { outcome: "skipped", why: whyMissing(path) };
      const why = notRead[reason.code];
      return why === undefined ? { outcome: "failed", why: reason.message } : { ...why };
    }
  }

  close(): Promise<void> {
    return this.#workspace.close();
  }
}

const isHidden = (path: string): boolean => path.split("/").some((name) => name.startsWith("."));

const notRead: Readonly<Record<string, Extract<ReadFile, { why: string }>>> = {
  EFBIG: { outcome: "skipped", why: `larger than ${documentLimits.bytes / 1024 / 1024} MiB` },
  EINVAL: { outcome: "skipped", why: "not a regular file" },
  EMLINK: { outcome: "skipped", why: "has more than one name (hard links), and may be a file from elsewhere" },
  EACCES: { outcome: "failed", why: "permission denied" },
};

/** A name that is no UTF-8 is listed with marks in place of its bytes, and nobody has a file of that name. */
const whyMissing = (path: string): string => (path.includes("\uFFFD") ? "its name is not UTF-8" : "is gone");

/** What its name says nothing about is plain text, if it is text. */
function documentOf(path: string, data: Uint8Array): ReadFile {
  const mediaType = mediaTypeByName(path);
  if (mediaType === "application/pdf" || isText(data))
    return { outcome: "document", data, mediaType: mediaType ?? "text/plain" };
  return { outcome: "skipped", why: "not UTF-8 text" };
}

const isText = (data: Uint8Array): boolean => !data.includes(0) && isUtf8(data);
