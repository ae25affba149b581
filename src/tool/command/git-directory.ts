// What git takes for a repository's own directory, and which places of the workspace such a repository's settings lead to. Read
// here and not by git: this is done before and after every command.
import { constants } from "node:fs";
import { access, lstat, open, readlink, realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

/** Whether git takes it for a repository by what is in it. */
export async function isGitDirectory(path: string): Promise<boolean> {
  if (!(await isHead(join(path, "HEAD")))) return false;
  // With a `commondir`, the rest may be elsewhere.
  if (await isThere(join(path, "commondir"))) return true;
  return (await isEnterable(join(path, "objects"))) && isEnterable(join(path, "refs"));
}

/** Whether the file says where a repository stands. */
export async function isHead(path: string): Promise<boolean> {
  if ((await readlink(path).catch(() => "")).startsWith("refs/")) return true;
  return /^(?:ref:\s*refs\/|[0-9a-f]{40})/i.test(await beginning(path, 256));
}

/** The largest configuration that is looked into. */
const settingsBytes = 1024 * 1024;
const named = /(?:^|[\]\s])(hookspath|path)[ \t]*=[ \t]*(.*)$/gim;

/**
 * Where hooks are and what is included, by these configurations and by what they include: absolute paths below the workspace that
 * are there. A path that leads through a symbolic link is not among them.
 */
export async function namedPlaces(configurations: readonly string[], workspace: string): Promise<string[]> {
  const files = new Set(configurations);
  const places: string[] = [];
  for (const file of files)
    for (const [, key = "", value = ""] of (await beginning(file, settingsBytes)).matchAll(named)) {
      const isInclude = key.toLowerCase() === "path";
      const place = resolve(isInclude ? dirname(file) : workspace, plain(value));
      if (!place.startsWith(`${workspace}/`) || (await realpath(place).catch(() => "")) !== place) continue;
      places.push(place);
      if (isInclude) files.add(place); // Comes up in this loop, once.
    }
  return places;
}

/** A value without its quotes, its escapes and the comment behind it. */
const plain = (value: string): string =>
  (/^(?:"(?:\\.|[^"\\])*"|\\.|[^"\\#;])*/.exec(value)?.[0] ?? "").trim().replace(/\\(.)|"/g, "$1");

/** Empty where it is not a file that can be read. Never waits, whatever is there. */
async function beginning(path: string, bytes: number): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined);
  if (file === undefined) return "";
  try {
    if (!(await file.stat()).isFile()) return "";
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

const isEnterable = (path: string): Promise<boolean> =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

export const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
