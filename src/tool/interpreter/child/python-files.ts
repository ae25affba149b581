// Python's files: in memory, bounded, and compared after each piece of code with what was there before it.
import { createHash } from "node:crypto";
import type { PyodideAPI } from "pyodide";
import type { FileChanges, ScratchLimits } from "./messages.js";

type FileSystem = PyodideAPI["FS"];

/** The parts of Emscripten's file system in memory that hold what files hold. */
interface MemoryNode {
  usedBytes: number;
  readonly contents: Readonly<Record<string, MemoryNode>> | ArrayBufferView;
}
interface MemoryFiles {
  ops_table: { file: { stream: { write: WriteFile } } };
  resizeFileStorage(node: MemoryNode, size: number): void;
}
type WriteFile = (
  stream: { node: MemoryNode },
  buffer: Uint8Array,
  offset: number,
  length: number,
  position: number,
  canOwn?: boolean,
) => number;

const deepest = 8;

export class PythonFiles {
  readonly #fs: FileSystem;
  readonly #folder: string;
  readonly #limits: ScratchLimits;
  /** The hash of each file as it was last seen. */
  #known = new Map<string, string>();

  constructor(python: PyodideAPI, folder: string, limits: ScratchLimits) {
    this.#fs = python.FS;
    this.#folder = folder;
    this.#limits = limits;
    this.#fs.mkdirTree(folder);
    this.#fs.chdir(folder);
    // It would lead to the files of the machine.
    const kinds = this.#fs.filesystems as Record<string, unknown>;
    for (const kind of Object.keys(kinds)) if (kind !== "MEMFS") delete kinds[kind];
    boundFiles(python, limits.bytes);
  }

  /** Files of the other language. Returns those that there is no room for: all is full, or something else is in their place. */
  give({ changed, removed }: FileChanges): string[] {
    for (const path of removed) {
      if (this.#known.delete(path)) this.#quietly(() => this.#fs.unlink(`${this.#folder}/${path}`));
    }
    return changed.flatMap(([path, data]) => (this.#put(path, data) ? [] : [path]));
  }

  /** What has changed since it was last asked. Of more files than may be there, the others are left out. */
  take(): FileChanges {
    const now = new Map<string, string>();
    const changed: [string, Uint8Array][] = [];
    for (const path of this.#paths("", 0)) {
      if (now.size >= this.#limits.files) break;
      const data = this.#quietly(() => this.#fs.readFile(`${this.#folder}/${path}`) as Uint8Array);
      // Nobody is allowed to read it.
      if (data === undefined) continue;
      const hash = hashOf(data);
      now.set(path, hash);
      if (this.#known.get(path) !== hash) changed.push([path, data]);
    }
    const removed = [...this.#known.keys()].filter((path) => !now.has(path));
    this.#known = now;
    return { changed, removed };
  }

  #put(path: string, data: Uint8Array): boolean {
    const place = `${this.#folder}/${path}`;
    // An empty folder is nobody's file.
    this.#quietly(() => this.#fs.rmdir(place));
    const isPut = this.#quietly(() => {
      this.#fs.mkdirTree(place.slice(0, place.lastIndexOf("/")));
      this.#fs.writeFile(place, data);
      return true;
    });
    if (isPut) {
      this.#known.set(path, hashOf(data));
      return true;
    }
    // Not half of it either.
    this.#known.delete(path);
    this.#quietly(() => this.#fs.unlink(place));
    return false;
  }

  /** Files alone: a link leads to what is listed anyway, or out of the folder. */
  *#paths(under: string, depth: number): Generator<string> {
    const names = this.#quietly(() => this.#fs.readdir(`${this.#folder}/${under}`) as string[]) ?? [];
    for (const name of names.sort()) {
      if (name === "." || name === "..") continue;
      const path = `${under}${name}`;
      if (path.length > this.#limits.pathUnits) continue;
      const mode = this.#quietly(() => (this.#fs.lstat(`${this.#folder}/${path}`) as { mode: number }).mode) ?? 0;
      if (this.#fs.isFile(mode)) yield path;
      else if (this.#fs.isDir(mode) && depth < deepest) yield* this.#paths(`${path}/`, depth + 1);
    }
  }

  #quietly<Value>(work: () => Value): Value | undefined {
    try {
      return work();
    } catch {
      return undefined;
    }
  }
}

const hashOf = (data: Uint8Array): string => createHash("sha1").update(data).digest("base64");

/** Emscripten has no quota: what writes and what makes files longer is counted here, wherever the file is. */
function boundFiles(python: PyodideAPI, limit: number): void {
  const { FS } = python;
  const memory = (FS.filesystems as { MEMFS: MemoryFiles }).MEMFS;
  const { stream } = memory.ops_table.file;
  const { write } = stream;
  const resize = memory.resizeFileStorage;
  const root = (FS as unknown as { root: MemoryNode }).root;
  const base = sizeOf(root);
  let used = 0;
  const grow = (bytes: number): void => {
    // What was deleted is counted off only when it matters.
    if (used + bytes > limit) used = sizeOf(root) - base;
    if (used + bytes > limit) throw new FS.ErrnoError(python.ERRNO_CODES["ENOSPC" as keyof typeof python.ERRNO_CODES]);
    used += Math.max(bytes, 0);
  };
  stream.write = (file, buffer, offset, length, position, canOwn) => {
    grow(position + length - file.node.usedBytes);
    return write(file, buffer, offset, length, position, canOwn);
  };
  memory.resizeFileStorage = (node, size) => {
    grow(size - node.usedBytes);
    resize(node, size);
  };
}

function sizeOf({ contents, usedBytes }: MemoryNode): number {
  if (ArrayBuffer.isView(contents)) return usedBytes;
  if (typeof contents !== "object" || contents === null) return 0;
  return Object.values(contents).reduce((sum, node) => sum + sizeOf(node), 0);
}
