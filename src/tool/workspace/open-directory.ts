// One directory of the workspace, held while it is read; whoever walks goes from it to what it holds, without paths.
import type { Dir, Dirent } from "node:fs";
import { posix } from "node:path";
import { inWords, systemError } from "./failures.js";
import type { Held } from "./held.js";
import { type Place, placeOf, type Roots } from "./lexical.js";
import { type OpenFile, openFound, unlessStale } from "./read-file.js";
import { openToList } from "./waiting.js";

export type EntryType = "file" | "directory" | "symlink" | "other";

export interface Entry {
  readonly name: string;
  readonly type: EntryType;
  /** Bytes, of files, where they were asked for. */
  readonly size?: number;
}

/** How many names are asked of the system at a time. */
const pieceEntries = 100;

export class OpenDirectory {
  readonly place: Place;
  readonly #held: Held;
  readonly #roots: Roots;

  /** The directory is its to close from here on. */
  constructor(held: Held, place: Place, roots: Roots) {
    this.#held = held;
    this.place = place;
    this.#roots = roots;
  }

  /** What it holds, in no order, in bounded memory. Leaving the loop ends it. Sizes are not looked up. */
  async *entries(): AsyncGenerator<Entry> {
    for await (const found of await this.#opened()) {
      const type = typeOf(found);
      // Some file systems do not tell types along with names.
      yield type === "other" ? await this.entry(found.name) : { name: found.name, type };
    }
  }

  /** One entry with its size. One that is gone again, or whose name is not Unicode, is still an entry. */
  async entry(name: string): Promise<Entry> {
    const held = await this.#hold(name).catch(() => undefined);
    if (held === undefined) return { name, type: "other" };
    await held.close();
    return held.stats.isFile() ? { name, type: "file", size: held.stats.size } : { name, type: typeOf(held.stats) };
  }

  /** A file in it: regular, with one name. A symbolic link is not followed. */
  openFile(name: string): Promise<OpenFile> {
    const place = this.#placeOf(name);
    const openOnce = async (): Promise<OpenFile> => {
      const held = await this.#hold(name);
      return openFound({ held, parent: this.#held, name, place, path: place.relative }).finally(() => held.close());
    };
    return inWords(place.relative, "file", () => unlessStale(openOnce));
  }

  /** A directory in it. A symbolic link is not followed. */
  openDirectory(name: string): Promise<OpenDirectory> {
    const place = this.#placeOf(name);
    return inWords(place.relative, "directory", async () => {
      const held = await this.#hold(name);
      if (held.stats.isDirectory()) return new OpenDirectory(held, place, this.#roots);
      await held.close();
      throw systemError("ENOTDIR");
    });
  }

  close(): Promise<void> {
    return this.#held.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #opened(): Promise<Dir> {
    return inWords(this.place.relative, "directory", async () => {
      await this.#held.verify();
      return openToList(this.#held.path, pieceEntries);
    });
  }

  async #hold(name: string): Promise<Held> {
    // Names come from the directory itself; one that does not is no name of an entry.
    if (name === "" || name === "." || name === ".." || /[/\0]/.test(name)) throw systemError("EINVAL");
    return this.#held.hold(name);
  }

  #placeOf(name: string): Place {
    return placeOf(posix.join(this.place.relative, name).split("/"), this.#roots);
  }
}

type Kinds = Pick<Dirent, "isFile" | "isDirectory" | "isSymbolicLink">;

export const typeOf = (found: Kinds): EntryType =>
  found.isFile() ? "file" : found.isDirectory() ? "directory" : found.isSymbolicLink() ? "symlink" : "other";
