// What the operating system and LMDB report, in the words of the port. Messages say what to do next.
import { constants } from "node:os";
import { HeddleError } from "../thread/errors.js";

const names = new Map(Object.entries(constants.errno).map(([name, number]) => [number, name]));
const full = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);
const unwritable = new Set(["EACCES", "EPERM", "EROFS", "ENOTDIR", "EISDIR", "EEXIST"]);

/** The error as a HeddleError about `path`; one that is a HeddleError already stays as it is. */
export function storageError(cause: unknown, path: string): HeddleError {
  if (cause instanceof HeddleError) return cause;
  const code = errorName(cause);
  if (full.has(code)) return storageFull(path, cause);
  if (unwritable.has(code)) return directoryUnwritable(path, code, cause);
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new HeddleError(
    "storage_failed",
    `${path} cannot be read or written (${oneLine(reason)}): look at the disk and the system log, then start again`,
    { detail: { path }, cause },
  );
}

export const storageFull = (path: string, cause?: unknown): HeddleError<"storage_full"> =>
  new HeddleError("storage_full", `No space is left for ${path}: free disk space, or raise the quota, and try again`, {
    detail: { path },
    cause,
  });

export const directoryUnwritable = (
  path: string,
  reason: string,
  cause?: unknown,
): HeddleError<"directory_unwritable"> =>
  new HeddleError(
    "directory_unwritable",
    `${path} cannot be written (${reason}): name a directory that this user may write`,
    { detail: { path }, cause },
  );

export const damaged = (what: string, path: string): HeddleError<"storage_failed"> =>
  new HeddleError("storage_failed", `${what} in ${path} fails its checksum: restore the data directory from a backup`, {
    detail: { path },
  });

/** Node says `code: "ENOSPC"`, lmdb-js `code: 28`. */
function errorName(cause: unknown): string {
  if (typeof cause !== "object" || cause === null || !("code" in cause)) return "";
  const { code } = cause;
  return typeof code === "number" ? (names.get(code) ?? "") : String(code);
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();
