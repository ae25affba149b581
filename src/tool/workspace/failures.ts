// What the file system says, in words for people and for the model.
import { ToolFailure } from "../tool.js";
import { oneLine } from "../words.js";

/** What the path was to be. */
export type Sought = "file" | "directory";

export const outside = (path: string): ToolFailure =>
  new ToolFailure(`Outside the workspace: ${oneLine(path)}; give a path inside it`, { code: "EACCES" });

export const isMissing = (reason: unknown): boolean => codeOf(reason) === "ENOENT";

/** Only for what the file system throws; a failure in its own words, or a signal's reason, goes on as it is. */
export function codeOf(reason: unknown): string | undefined {
  if (!(reason instanceof Error && "syscall" in reason)) return undefined;
  return (reason as NodeJS.ErrnoException).code ?? "unknown error";
}

/** An error of the kind that the file system throws, for what we find out ourselves. */
export const systemError = (code: string): NodeJS.ErrnoException =>
  Object.assign(new Error(code), { code, syscall: "open" });

/** What `work` throws, put into words about `path` where the file system threw it. */
export async function inWords<T>(path: string, sought: Sought, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (reason) {
    throw asFailure(reason, path, sought);
  }
}

/** What the file system threw as a ToolFailure about `path`; anything else as it is. */
export function asFailure(reason: unknown, path: string, sought: Sought): unknown {
  const code = codeOf(reason);
  if (code === undefined) return reason;
  return new ToolFailure(failureWords[sought](code, oneLine(path)), { code, cause: reason });
}

const failureWords: Record<Sought, (code: string, path: string) => string> = {
  file: (code, path) => fileWords[code]?.(path) ?? `Could not work on ${path} (${code}); choose another file`,
  directory: (code, path) =>
    directoryWords[code]?.(path) ?? `Could not list ${path} (${code}); choose another directory`,
};

type Words = Readonly<Record<string, (path: string) => string>>;

const fileWords: Words = {
  ENOENT: (path) => `File not found: ${path}; list the directory to see what is there`,
  ENOTDIR: (path) => `Not a directory: ${path} leads through a file; list the directory to see what is there`,
  EISDIR: (path) => `Is a directory: ${path}; give the path of a file`,
  EACCES: (path) => `Permission denied: ${path}; choose another file`,
  EPERM: (path) => `Permission denied: ${path}; choose another file`,
  EROFS: (path) => `Permission denied: ${path} is on a read-only file system; choose another place`,
  EEXIST: (path) => `Target exists: ${path}; choose another name, or change what is there`,
  ELOOP: (path) => `Too many symbolic links: ${path}; give the path without them`,
  ENAMETOOLONG: (path) => `Name too long: ${path}; give a shorter path`,
  ENOSPC: (path) => `No space left for ${path}; ask the user to make room`,
  EDQUOT: (path) => `No space left for ${path}; ask the user to make room`,
  EXDEV: (path) => `On another file system: ${path}; write it anew there, and delete the old one`,
  ESTALE: (path) => `Changed while it was looked at: ${path}; try again`,
  EMFILE: (path) => `Too many files are open to reach ${path}; try again later`,
  ENFILE: (path) => `Too many files are open to reach ${path}; try again later`,
};

const directoryWords: Words = {
  ...fileWords,
  ENOENT: (path) => `No such directory: ${path}; list the one above it to see what is there`,
  ENOTDIR: (path) => `Not a directory: ${path}; give the path of a directory`,
  EACCES: (path) => `Permission denied: ${path}; choose another directory`,
  EPERM: (path) => `Permission denied: ${path}; choose another directory`,
};
