// The scratch folder as JavaScript has it: files by their paths, in memory, bounded.
import type { FileChanges, ScratchLimits } from "./messages.js";

export class JavaScriptFiles {
  readonly #limits: ScratchLimits;
  readonly #files = new Map<string, Uint8Array>();
  #changed = new Set<string>();
  #removed = new Set<string>();
  #bytes = 0;

  constructor(limits: ScratchLimits) {
    this.#limits = limits;
  }

  /** Files of the other language. */
  give({ changed, removed }: FileChanges): void {
    for (const [path, data] of changed) this.#put(path, data);
    for (const path of removed) this.#drop(path);
  }

  /** What has changed since it was last asked. */
  take(): FileChanges {
    const changed = [...this.#changed].flatMap((path) => {
      const data = this.#files.get(path);
      return data === undefined ? [] : [[path, data] as const];
    });
    const removed = [...this.#removed].filter((path) => !this.#files.has(path));
    this.#changed = new Set();
    this.#removed = new Set();
    return { changed, removed };
  }

  list(): string[] {
    return [...this.#files.keys()].sort();
  }

  read(given: string): Uint8Array {
    const data = this.#files.get(this.#pathOf(given));
    if (data === undefined) throw new Error(`There is no file ${given}; listFiles() names those that are there`);
    return data;
  }

  write(given: string, data: Uint8Array): void {
    const path = this.#pathOf(given);
    const before = this.#files.get(path)?.length ?? 0;
    if (this.#bytes - before + data.length > this.#limits.bytes)
      throw new Error(`No space left: all files together may have ${this.#limits.bytes} bytes`);
    if (!this.#files.has(path) && this.#files.size >= this.#limits.files)
      throw new Error(`Too many files: there may be ${this.#limits.files}`);
    if (this.#isInTheWay(path)) throw new Error(`${given} is a folder, or is below a file`);
    this.#put(path, data);
    this.#changed.add(path);
  }

  remove(given: string): void {
    const path = this.#pathOf(given);
    this.read(path);
    this.#drop(path);
    this.#removed.add(path);
  }

  #isInTheWay(path: string): boolean {
    return [...this.#files.keys()].some((other) => other.startsWith(`${path}/`) || path.startsWith(`${other}/`));
  }

  #put(path: string, data: Uint8Array): void {
    this.#drop(path);
    this.#files.set(path, data);
    this.#bytes += data.length;
  }

  #drop(path: string): void {
    this.#bytes -= this.#files.get(path)?.length ?? 0;
    this.#files.delete(path);
  }

  /** From the scratch folder, however it is written. */
  #pathOf(given: string): string {
    const parts = given
      .replace(/^\/scratch\//, "")
      .split("/")
      .filter((part) => part !== "" && part !== ".");
    const path = parts.join("/");
    const isBad = path === "" || path.length > this.#limits.pathUnits || parts.includes("..") || path.includes("\0");
    if (isBad || (given.startsWith("/") && !given.startsWith("/scratch/")))
      throw new Error(`${JSON.stringify(given.slice(0, 100))} is no path of a file here; use a name such as data.csv`);
    return path;
  }
}
