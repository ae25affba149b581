// What can be said of a path without asking the file system: which names it is made of, and whether it stays inside. What is
// outside must not even be found out about.
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { limits } from "../../thread/limits.js";
import { ToolFailure } from "../tool.js";
import { oneLine } from "../words.js";
import { outside } from "./failures.js";

/** Where a path leads. */
export interface Place {
  /** From the workspace, with `/` between the names. The workspace itself is `.`. */
  readonly relative: string;
  readonly absolute: string;
}

/** The workspace's names: as it was asked for, and without symbolic links. Both are absolute. */
export interface Roots {
  readonly asked: string;
  readonly real: string;
}

const nameBytes = 255;

/** The names from the workspace on; none for the workspace itself. Throws a ToolFailure for what is outside or is no path. */
export function namesOf(path: string, roots: Roots): string[] {
  if (path === "") throw new ToolFailure("The path is empty; give one inside the workspace", { code: "EINVAL" });
  if (path.length > limits.pathUnits) throw tooLong(path);
  if (path.includes("\0")) throw new ToolFailure("Not a path: it holds a NUL character", { code: "EINVAL" });
  const asked = resolve(roots.asked, path);
  const within = [roots.asked, roots.real].find((root) => isWithin(root, asked));
  if (within === undefined) throw outside(path);
  const names = relative(within, asked).split(sep).filter(Boolean);
  if (names.some((name) => Buffer.byteLength(name) > nameBytes)) throw tooLong(path);
  return names;
}

/**
 * The steps that a symbolic link stands for, `..` among them, and whether they start at the workspace itself. Undefined when it
 * leads out at once. An absolute one is read name by name: what `..` means depends on where the names before it lead.
 */
export function stepsOfLink(target: string, roots: Roots): { fromRoot: boolean; steps: string[] } | undefined {
  const steps = target.split(sep).filter((step) => step !== "" && step !== ".");
  if (!isAbsolute(target)) return { fromRoot: false, steps };
  for (const root of [roots.real, roots.asked]) {
    const names = root.split(sep).filter(Boolean);
    if (names.every((name, index) => steps[index] === name))
      return { fromRoot: true, steps: steps.slice(names.length) };
  }
  return undefined;
}

export const placeOf = (names: readonly string[], roots: Roots): Place => ({
  relative: names.join("/") || ".",
  absolute: join(roots.real, ...names),
});

/** `a/b/` can only be a directory. */
export const namesDirectory = (path: string): boolean =>
  /[/\\]\.{0,2}$|^\.{1,2}$/.test(sep === "/" ? path.replaceAll("\\", "_") : path);

function isWithin(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

const tooLong = (path: string): ToolFailure =>
  new ToolFailure(`Name too long: ${oneLine(path)}; give a shorter path`, { code: "ENAMETOOLONG" });
