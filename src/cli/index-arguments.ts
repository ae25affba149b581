// The folder that is indexed, and the collection that it becomes.
import { statSync } from "node:fs";
import { basename, relative, resolve, sep } from "node:path";
import { usageEnding } from "./exit.js";
import { Failure } from "./failure.js";
import { clip, safeLine } from "./terminal.js";

const longestShown = 200;

/** Absolute. */
export function folderArgument(text: string): string {
  const shown = safeLine(clip(text, longestShown));
  const directory = resolve(text);
  const stats = statsOf(directory, shown);
  if (stats === undefined) throw wrong(`there is no folder ${shown}`);
  if (!stats.isDirectory()) throw wrong(`${shown} is not a folder: give the one that it is in`);
  return directory;
}

function statsOf(directory: string, shown: string) {
  try {
    return statSync(directory, { throwIfNoEntry: false });
  } catch (reason) {
    throw wrong(`the folder ${shown} cannot be read`, reason);
  }
}

const longestCollection = 64;

export function collectionArgument(text: string): string {
  if (/^[a-z0-9][a-z0-9._-]{0,63}$/.test(text)) return text;
  const rule = `a collection's name has 1 to ${longestCollection} characters of a-z 0-9 - _ . and starts with a letter or digit`;
  throw wrong(`"${safeLine(clip(text, longestShown))}" is no name of a collection: ${rule}`);
}

/** `Café Notes (2024)` becomes `cafe-notes-2024`. */
export function collectionOf(directory: string): string {
  const plain = basename(directory)
    .normalize("NFKD")
    .replace(/\p{Mn}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[^a-z0-9]+/, "");
  return plain.slice(0, longestCollection).replace(/[^a-z0-9]+$/, "") || "default";
}

/** Which paths of the folder are below `inner`; none, where that is elsewhere or not known. */
export function isWithin(inner: string | undefined, directory: string): (path: string) => boolean {
  const start = inner === undefined ? ".." : relative(directory, resolve(inner)).replaceAll(sep, "/");
  if (start === "" || /^\.\.(?:\/|$)|^[a-z]:/i.test(start)) return () => false;
  return (path) => path.startsWith(`${start}/`);
}

const wrong = (message: string, cause?: unknown): Failure => new Failure(usageEnding(message), cause);
