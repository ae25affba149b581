// The way from the workspace to what a path names, one name at a time. Each directory on the way is held, links are read here and
// not by the kernel, and `..` goes back to the directory that we came through: no step can leave the workspace, whatever is
// changed meanwhile.
import { mkdir, readlink } from "node:fs/promises";
import { codeOf, isMissing, outside, systemError } from "./failures.js";
import type { Held } from "./held.js";
import { type Roots, stepsOfLink } from "./lexical.js";

/** As many as Linux follows. */
const maxLinks = 40;
/** Each is a descriptor while the way is gone. */
const maxLevels = 256;

export interface Journey {
  readonly root: Held;
  readonly roots: Roots;
  /** As it was asked for, for words. */
  readonly path: string;
  readonly names: readonly string[];
  /** What to do when the last name is a symbolic link: go where it leads (the default), or take the link itself. */
  readonly lastLink?: "follow" | "keep";
  readonly makeParents?: boolean;
  /** Throws when nothing may be changed there. Asked with the names without links, before a parent is made. */
  readonly allow?: (names: readonly string[]) => void;
}

export interface Arrival {
  /** From the workspace, without links. */
  readonly names: readonly string[];
  /** The last of them. Undefined for the workspace itself. */
  readonly name: string | undefined;
  /** The directory that holds it; for the workspace itself, the workspace. */
  readonly parent: Held;
  /** Undefined when there is nothing of this name. */
  readonly found: Held | undefined;
  /** Contract: called exactly once; everything above is gone then. */
  close(): Promise<void>;
}

/** Goes the way. Throws what the file system says when it ends before the last name. */
export async function descend(journey: Journey): Promise<Arrival> {
  const way = await Way.from(journey.root);
  try {
    const found = await goOn(way, journey);
    journey.allow?.(way.names);
    return { names: way.names, name: way.names.at(-1), parent: way.parent, found, close: () => way.close() };
  } catch (reason) {
    await way.close();
    throw reason;
  }
}

async function goOn(way: Way, journey: Journey): Promise<Held | undefined> {
  const pending = [...journey.names];
  let links = 0;
  for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
    if (name === "..") {
      if (!(await way.goBack())) throw outside(journey.path);
      continue;
    }
    const isLast = pending.length === 0;
    const found = (await way.look(name)) ?? (isLast ? undefined : await madeParent(way, [name, ...pending], journey));
    if (found === undefined) return way.arrive(name, undefined);
    const isLink = found.stats.isSymbolicLink();
    if (!isLink || (isLast && journey.lastLink === "keep")) {
      if (!isLast && !found.stats.isDirectory()) throw systemError("ENOTDIR");
      way.arrive(name, found);
      continue;
    }
    if (++links > maxLinks) throw systemError("ELOOP");
    const target = await way.readLink(name);
    // Undefined: it was a link a moment ago. Look once more.
    const link = target === undefined ? { fromRoot: false, steps: [name] } : stepsOfLink(target, journey.roots);
    if (link === undefined) throw outside(journey.path);
    if (link.fromRoot) await way.goToRoot();
    pending.unshift(...link.steps);
  }
  return way.here;
}

/** Of `steps`, the first one, where it is to be made. */
async function madeParent(way: Way, steps: readonly string[], journey: Journey): Promise<Held> {
  const name = steps[0]!;
  const names = [...way.names, ...steps];
  journey.allow?.(names);
  if (!journey.makeParents) throw new MissingParent(names);
  await way.here.verify();
  await mkdir(`${way.here.path}/${name}`).catch((reason) => {
    if (codeOf(reason) !== "EEXIST") throw reason;
  });
  const made = await way.look(name);
  if (made === undefined) throw systemError("ENOENT");
  return made;
}

/** As the file system says it. The way could be gone on with if directories were made. */
export class MissingParent extends Error {
  readonly code = "ENOENT";
  readonly syscall = "open";

  /** The whole way from the workspace, without the links that were met. `..` may be among those that are missing. */
  constructor(readonly names: readonly string[]) {
    super("ENOENT");
  }
}

/** The directories that we came through, and what was looked at last. */
class Way {
  readonly names: string[] = [];
  readonly #held: Held[];
  /** What was looked at, while it is not yet known whether the way goes through it. */
  #looked: Held | undefined;

  private constructor(root: Held) {
    this.#held = [root];
  }

  static async from(root: Held): Promise<Way> {
    return new Way(await root.hold("."));
  }

  get here(): Held {
    return this.#held.at(-1)!;
  }

  /** Of the last name, also when nothing was found there. */
  get parent(): Held {
    return this.#held[this.names.length - 1] ?? this.#held[0]!;
  }

  async look(name: string): Promise<Held | undefined> {
    await this.#dropLooked();
    if (Buffer.byteLength(name) > 255) throw systemError("ENAMETOOLONG");
    if (this.#held.length > maxLevels) throw systemError("ENAMETOOLONG");
    try {
      this.#looked = await this.here.hold(name);
    } catch (reason) {
      if (!isMissing(reason)) throw reason;
    }
    return this.#looked;
  }

  arrive(name: string, found: Held | undefined): undefined {
    this.names.push(name);
    if (found !== undefined) this.#held.push(found);
    this.#looked = undefined;
  }

  /** Undefined when there is no link of this name any more. */
  async readLink(name: string): Promise<string | undefined> {
    try {
      return await readlink(`${this.here.path}/${name}`);
    } catch (reason) {
      const code = codeOf(reason);
      if (code === "EINVAL" || code === "ENOENT") return undefined;
      throw reason;
    }
  }

  /** False when there is no way back. */
  async goBack(): Promise<boolean> {
    if (this.names.length === 0) return false;
    this.names.pop();
    await this.#held.pop()!.close();
    return true;
  }

  async goToRoot(): Promise<void> {
    while (await this.goBack());
  }

  async close(): Promise<void> {
    await this.#dropLooked();
    for (const held of this.#held.splice(0)) await held.close();
  }

  async #dropLooked(): Promise<void> {
    const looked = this.#looked;
    this.#looked = undefined;
    await looked?.close();
  }
}
