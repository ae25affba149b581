// Makes a collection what a folder is: sends what is new or changed, several at a time, then removes what is gone. Each document
// is stored by itself, so that whoever is cut off loses nothing and goes on from there.
import { createHash } from "node:crypto";
import { ConnectError } from "@connectrpc/connect";
import { reasonOf } from "../client/index.js";
import type { FolderFiles } from "../folder-files.js";
import type { DocumentsClient } from "./documents-client.js";
import type { Indexed } from "./index-outcome.js";

export interface IndexJob {
  readonly folder: Pick<FolderFiles, "read">;
  /** Names in the folder, in order. */
  readonly files: readonly string[];
  readonly collection: string;
  /** SHA-256 in hex by name, of what the collection holds. */
  readonly there: ReadonlyMap<string, string>;
  readonly client: Pick<DocumentsClient, "upload" | "delete">;
  /** Nothing is sent and nothing removed. */
  readonly isDryRun: boolean;
  /** Something of the folder was not seen: what seems gone may be there. */
  readonly keepsMissing: boolean;
  readonly signal: AbortSignal;
}

export interface IndexReport {
  started(name: string): void;
  ended(indexed: Indexed): Promise<void>;
}

const uploadsAtOnce = 4;

/** Rejects with what the server or the signal said when there is no point in going on; what is done stays done. */
export async function indexFolder(job: IndexJob, report: IndexReport): Promise<void> {
  const kept = new Set<string>();
  await forEach(job.files, job.signal, async (name, signal) => {
    report.started(name);
    const indexed = await indexFile({ ...job, signal }, name);
    if (indexed.outcome !== "skipped") kept.add(name);
    await report.ended(indexed);
  });
  const gone = job.keepsMissing ? [] : [...job.there.keys()].filter((name) => !kept.has(name));
  await forEach(gone, job.signal, async (name, signal) => {
    if (!job.isDryRun) await job.client.delete({ collection: job.collection, name }, signal);
    await report.ended({ name, outcome: "removed", sizeBytes: 0 });
  });
}

async function indexFile(job: IndexJob, name: string): Promise<Indexed> {
  const file = await job.folder.read(name);
  if (file.outcome !== "document") return { name, sizeBytes: 0, ...file };
  const { data, mediaType } = file;
  const sizeBytes = data.length;
  const before = job.there.get(name);
  if (before === createHash("sha256").update(data).digest("hex")) return { name, outcome: "unchanged", sizeBytes };
  const outcome = before === undefined ? "new" : "changed";
  if (job.isDryRun) return { name, outcome, sizeBytes };
  try {
    await job.client.upload({ collection: job.collection, name, mediaType, data }, job.signal);
    return { name, outcome, sizeBytes };
  } catch (reason) {
    return { name, sizeBytes, ...refusalOf(reason) };
  }
}

/** What the server has against this document alone. Everything else would meet the next one too. */
function refusalOf(reason: unknown): Pick<Indexed, "outcome" | "why"> {
  const error = ConnectError.from(reason);
  switch (reasonOf(error)) {
    case "UNSUPPORTED_DOCUMENT":
      return { outcome: "skipped", why: error.rawMessage };
    case "INVALID_FIELD":
    case "LIMIT_EXCEEDED":
    case "INTERNAL":
      return { outcome: "failed", why: error.rawMessage };
    default:
      throw reason;
  }
}

/** The first that fails stops the others. */
async function forEach(
  names: readonly string[],
  signal: AbortSignal,
  work: (name: string, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const queue = names[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const name of queue) {
      either.throwIfAborted();
      await work(name, either);
    }
  };
  let first: { reason: unknown } | undefined;
  const watched = () =>
    worker().catch((reason) => {
      first ??= { reason };
      stop.abort(reason);
    });
  await Promise.all(Array.from({ length: Math.min(uploadsAtOnce, names.length) }, watched));
  if (first !== undefined) throw first.reason;
}
