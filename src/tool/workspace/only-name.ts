// Whether the one name that a file has is the name that we came by. A count of one alone says nothing: a file from outside that was
// linked here a moment ago, and is not any more, has one name as well. There are two proofs, and one of them will do.
import { setTimeout as pause } from "node:timers/promises";
import { codeOf, systemError } from "./failures.js";
import type { Held } from "./held.js";
import { lookAt } from "./waiting.js";

export interface NamedFile {
  /** Contract: its names were counted, and are one. */
  readonly held: Held;
  readonly parent: Held;
  /** Of what is held, in the parent. */
  readonly name: string;
}

/** Throws ESTALE when neither proof can be had: whoever asks may look once more. */
export async function proveOnlyName(file: NamedFile): Promise<void> {
  if (!(await isStillThere(file))) await proveUnchanged(file);
}

/**
 * By the name that the descriptor holds. Once it is taken away, or another file is put over it, it stays away: a link that is made
 * again is another one to the kernel, whatever it is called. So a name that is there now was there when the names were counted.
 * The count goes down a little before the name is gone, but both while the directory is locked: going through that lock comes
 * between the count and this look.
 */
async function isStillThere({ held, parent, name }: NamedFile): Promise<boolean> {
  // A name that is gone could be taken for this one.
  if (name.endsWith(goneMark)) return false;
  const directory = parent.whereabouts();
  if (directory === undefined || !(await waitForDirectory(parent))) return false;
  const expected = directory === "/" ? `/${name}` : `${directory}/${name}`;
  return held.whereabouts() === expected && parent.whereabouts() === directory;
}

/** What Linux writes behind a name that is gone. */
const goneMark = " (deleted)";
/** Longer than file systems allow: it has to be looked for in the directory itself, and leaves no trace in any cache. */
const impossibleName = "x".repeat(1_024);

/** Until whoever is changing the directory is done. False when that could not be had. */
const waitForDirectory = (directory: Held): Promise<boolean> =>
  lookAt(`${directory.path}/${impossibleName}`).then(
    () => false,
    (reason) => codeOf(reason) === "ENAMETOOLONG",
  );

/**
 * By the time of change, which a name that comes or goes sets. It says nothing while it is so fresh that the clock of the file
 * system may not have ticked since.
 */
async function proveUnchanged({ held: { stats }, parent, name }: NamedFile): Promise<void> {
  const ageMs = Date.now() - stats.ctimeMs;
  if (ageMs >= 0 && ageMs <= tickMs) {
    await pause(tickMs);
    throw systemError("ESTALE");
  }
  const now = await lookAt(`${parent.path}/${name}`);
  if (now.ino !== stats.ino || now.dev !== stats.dev || now.nlink !== 1 || now.ctimeMs !== stats.ctimeMs)
    throw systemError("ESTALE");
}

/** Longer than the tick of any kernel. */
const tickMs = 20;
