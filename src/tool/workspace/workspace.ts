// The directory that an agent works in, and the only way in which tools touch files. No path, symbolic link, hard link, device,
// pipe or race leads out of it: lexical.ts refuses what is outside by its words, descend.ts goes the way inside name by name,
// held.ts holds what was found. What the file system refuses is a ToolFailure that says what to do next, with errno as its code.
import { unlink } from "node:fs/promises";
import { resolve } from "node:path";
import { ToolFailure } from "../tool.js";
import { type Arrival, descend, type Journey, MissingParent } from "./descend.js";
import { asFailure, inWords, isMissing, systemError } from "./failures.js";
import { type Held, holdRoot } from "./held.js";
import { namesDirectory, namesOf, type Place, placeOf, type Roots } from "./lexical.js";
import { type EntryType, OpenDirectory, typeOf } from "./open-directory.js";
import { refuseProtected } from "./protected.js";
import { asText, type OpenFile, openFound, readWhole, refuseIrregular, unlessStale } from "./read-file.js";
import { putInPlace, refuseReadOnly, renameIfFree, syncDirectory } from "./write-file.js";

export type { Place } from "./lexical.js";
export type { Entry, EntryType, OpenDirectory } from "./open-directory.js";
export type { OpenFile } from "./read-file.js";

export interface TextFile {
  readonly place: Place;
  readonly text: string;
  /** Permission bits. */
  readonly mode: number;
  readonly bytes: number;
}

/** What is under a name. Without a type: nothing. */
export interface Examined {
  readonly place: Place;
  readonly type?: EntryType;
  readonly size?: number;
  /** Permission bits. */
  readonly mode?: number;
}

/** Holds the directory open. Contract: closed by whoever opened it. */
export class Workspace {
  readonly #root: Held;
  readonly #roots: Roots;

  private constructor(root: Held, roots: Roots) {
    this.#root = root;
    this.#roots = roots;
  }

  /** `portable` does without descriptors, as where there are none: for tests. */
  static async open(directory: string | undefined, options: { portable?: boolean } = {}): Promise<Workspace> {
    if (directory === undefined)
      throw new ToolFailure("There is no workspace; go on without files", { code: "ENOENT" });
    const { held, real } = await holdRoot(directory, options).catch((cause: NodeJS.ErrnoException) => {
      throw new ToolFailure("The workspace cannot be reached; go on without files", { code: cause.code ?? "", cause });
    });
    return new Workspace(held, { asked: resolve(directory), real });
  }

  /** Where the path leads by its words alone; links may lead elsewhere, but never out. A ToolFailure when it is outside. */
  locate(path: string): Place {
    return placeOf(namesOf(path, this.#roots), this.#roots);
  }

  /** A regular file with one name. */
  openFile(path: string): Promise<OpenFile> {
    return this.#arrive(path, { sought: "file" }, async ({ found, names, name, parent }) => {
      if (found === undefined) throw systemError("ENOENT");
      if (name === undefined) throw systemError("EISDIR");
      return openFound({ held: found, parent, name, place: placeOf(names, this.#roots), path });
    });
  }

  /** All of a UTF-8 text. A ToolFailure when it is binary, or larger than `maxBytes`. */
  async readText(path: string, maxBytes: number): Promise<TextFile> {
    const file = await this.openFile(path);
    try {
      const bytes = await inWords(path, "file", () => readWhole(file, path, maxBytes));
      return { place: file.place, text: asText(bytes, path), mode: file.mode, bytes: bytes.length };
    } finally {
      await file.handle.close();
    }
  }

  openDirectory(path: string): Promise<OpenDirectory> {
    return this.#arrive(path, { sought: "directory" }, async ({ found, names }) => {
      if (found === undefined) throw systemError("ENOENT");
      if (!found.stats.isDirectory()) throw systemError("ENOTDIR");
      // Held once more: the arrival's own hold ends with the arrival.
      return new OpenDirectory(await found.hold("."), placeOf(names, this.#roots), this.#roots);
    });
  }

  /** Where a file that could be read, or a directory, is without links. Opens nothing. */
  find(path: string): Promise<Place> {
    const sought = namesDirectory(path) ? "directory" : "file";
    return this.#arrive(path, { sought }, async ({ found, names }) => {
      if (found === undefined) throw systemError("ENOENT");
      const isDirectory = found.stats.isDirectory();
      if (sought === "directory" && !isDirectory) throw systemError("ENOTDIR");
      if (!isDirectory) refuseIrregular(found.stats, path);
      return placeOf(names, this.#roots);
    });
  }

  /**
   * What a change would find there, without changing anything; refuses the places and files that a change would. Nothing is found also where
   * a directory on the way is missing; the place is then where it would be made, behind all links.
   */
  async examine(path: string, options: { lastLink?: "follow" | "keep" } = {}): Promise<Examined> {
    const journey = { sought: "file", changes: true, ...options } as const;
    try {
      return await this.#arrive(path, journey, async ({ found, names }) => {
        // Where the link itself is meant, so is the name: that goes by the rights of the directory.
        if (found?.stats.isFile() && options.lastLink !== "keep") await refuseReadOnly(found);
        return {
          place: placeOf(names, this.#roots),
          ...(found && { type: typeOf(found.stats), size: found.stats.size, mode: found.stats.mode & 0o777 }),
        };
      });
    } catch (reason) {
      const missing = reason instanceof ToolFailure ? reason.cause : undefined;
      // With a way back in it nobody can say where it leads before the directories are there.
      if (!(missing instanceof MissingParent) || missing.names.includes("..")) throw reason;
      return { place: placeOf(missing.names, this.#roots) };
    }
  }

  /**
   * The whole file at once or not at all. A symbolic link is followed, inside. Keeps the mode of what it replaces; a new one can be
   * made executable.
   */
  writeFile(
    path: string,
    data: string | Uint8Array,
    options: { makeParents?: boolean; expect?: "new" | "existing"; isExecutable?: boolean } = {},
  ): Promise<{ place: Place; created: boolean }> {
    const journey = { sought: "file", changes: true, makeParents: options.makeParents ?? false } as const;
    return this.#arrive(path, journey, async (arrival) => {
      const created = await putInPlace(arrival, { data, path, ...options });
      return { place: placeOf(arrival.names, this.#roots), created };
    });
  }

  /** The name itself, of a file or a symbolic link. Never replaces anything. */
  moveFile(from: string, to: string, options: { makeParents?: boolean } = {}): Promise<{ from: Place; to: Place }> {
    const leaving = { sought: "file", changes: true, lastLink: "keep" } as const;
    const arriving = { ...leaving, makeParents: options.makeParents ?? false } as const;
    return this.#arrive(from, leaving, async (source) => {
      if (source.found === undefined) throw systemError("ENOENT");
      if (source.found.stats.isDirectory()) throw systemError("EISDIR");
      return this.#arrive(to, arriving, async (target) => {
        if (target.found !== undefined || target.name === undefined) throw systemError("EEXIST");
        await source.parent.verify();
        await target.parent.verify();
        await renameIfFree(`${source.parent.path}/${source.name}`, `${target.parent.path}/${target.name}`).catch(
          (reason) => {
            // Both directories are held: what is missing is the file that was to be moved.
            const isAboutSource = isMissing(reason) || ["unlink", "rename"].includes(reason.syscall);
            throw isAboutSource ? asFailure(reason, from, "file") : reason;
          },
        );
        await syncDirectory(target.parent);
        await syncDirectory(source.parent);
        return { from: placeOf(source.names, this.#roots), to: placeOf(target.names, this.#roots) };
      });
    });
  }

  /** The name itself, never what a symbolic link points at. A directory is refused. */
  removeFile(path: string): Promise<Place> {
    return this.#arrive(path, { sought: "file", changes: true, lastLink: "keep" }, async (arrival) => {
      if (arrival.found === undefined) throw systemError("ENOENT");
      if (arrival.found.stats.isDirectory()) throw systemError("EISDIR");
      await arrival.parent.verify();
      await unlink(`${arrival.parent.path}/${arrival.name}`);
      await syncDirectory(arrival.parent);
      return placeOf(arrival.names, this.#roots);
    });
  }

  close(): Promise<void> {
    return this.#root.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Goes there, works, and lets go of everything on every path. */
  async #arrive<T>(path: string, kind: JourneyKind, work: (arrival: Arrival) => Promise<T>): Promise<T> {
    const names = namesOf(path, this.#roots);
    const allow = (asked: readonly string[]): void => refuseProtected(path, asked);
    if (kind.changes) allow(names);
    const journey = { root: this.#root, roots: this.#roots, path, names, ...kind, ...(kind.changes ? { allow } : {}) };
    const goThere = async (): Promise<T> => {
      if (kind.sought === "file" && namesDirectory(path)) throw systemError("EISDIR");
      const arrival = await descend(journey);
      try {
        return await work(arrival);
      } finally {
        await arrival.close();
      }
    };
    return inWords(path, kind.sought, () => (kind.changes ? goThere() : unlessStale(goThere)));
  }
}

interface JourneyKind extends Pick<Journey, "lastLink" | "makeParents"> {
  readonly sought: "file" | "directory";
  /** Protected places are refused. */
  readonly changes?: boolean;
}
