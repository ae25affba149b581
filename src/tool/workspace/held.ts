// Things of the file system that are held while something is done with them, so that nobody can put another in their place
// between the look and the deed.
//
// On Linux a thing is held by a descriptor (O_PATH: nothing is opened yet, so that no pipe waits and no device notices), and
// reached through /proc/self/fd: the kernel then starts at that very thing, as with openat. Where there is no such directory
// (portable.ts), a thing is known by its path, its device and its number, and these are compared before and after: whoever is
// quick enough can still come between.
import { closeSync, constants, fstatSync, openSync, readlinkSync, type Stats } from "node:fs";
import { realpath } from "node:fs/promises";
import { holdRootByPath } from "./portable.js";
import { openDescriptor, openToRead, type ReadHandle } from "./waiting.js";

export interface Held {
  readonly stats: Stats;
  /** Names this very thing to the file system, for as long as it is held; of a directory, with `/name` behind it, its entries. */
  readonly path: string;
  /** Where it is now, as the kernel tells, with ` (deleted)` behind it when its name is gone. Undefined: not told. */
  whereabouts(): string | undefined;
  /** An entry of this directory: the name itself, never where a link leads. `.` is the directory once more. */
  hold(name: string): Promise<Held>;
  /** Opens this very thing to read it. Contract: only for regular files and directories. */
  openToRead(): Promise<ReadHandle>;
  /** Throws ESTALE when it is no longer where it was. Contract: asked before and after something is changed in a directory. */
  verify(): Promise<void>;
  close(): Promise<void>;
}

export interface HeldRoot {
  readonly held: Held;
  /** Absolute, without symbolic links. */
  readonly real: string;
}

/** The directory that everything else is reached from. */
export async function holdRoot(directory: string, options: { portable?: boolean } = {}): Promise<HeldRoot> {
  if (options.portable || !(await hasDescriptorPaths())) return holdRootByPath(directory);
  const held = await HeldByDescriptor.at(directory, constants.O_DIRECTORY);
  try {
    // Kept by the kernel itself, without links.
    return { held, real: readlinkSync(held.path) };
  } catch (reason) {
    await held.close();
    throw reason;
  }
}

/** Not among Node's constants; the same on every architecture that Node runs on. */
const O_PATH = 0o10000000;

/** Only the opening may have to wait for a disk: what is held that way is in memory, and letting it go writes nothing. */
class HeldByDescriptor implements Held {
  readonly stats: Stats;
  readonly #descriptor: number;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
    this.stats = fstatSync(descriptor);
  }

  static async at(path: string, flags: number): Promise<HeldByDescriptor> {
    const descriptor = await openDescriptor(path, O_PATH | flags);
    try {
      return new HeldByDescriptor(descriptor);
    } catch (reason) {
      closeSync(descriptor);
      throw reason;
    }
  }

  get path(): string {
    return `/proc/self/fd/${this.#descriptor}`;
  }

  whereabouts(): string | undefined {
    try {
      return readlinkSync(this.path);
    } catch {
      // It is too long to be told.
      return undefined;
    }
  }

  async hold(name: string): Promise<Held> {
    // What is held already needs no disk.
    if (name === ".") return new HeldByDescriptor(openSync(`${this.path}/.`, O_PATH));
    return HeldByDescriptor.at(`${this.path}/${name}`, constants.O_NOFOLLOW);
  }

  openToRead(): Promise<ReadHandle> {
    return openToRead(this.path, constants.O_RDONLY | constants.O_NONBLOCK);
  }

  async verify(): Promise<void> {}

  async close(): Promise<void> {
    closeSync(this.#descriptor);
  }
}

let descriptorPaths: Promise<boolean> | undefined;

/** Whether a descriptor can be named: on Linux, where /proc is mounted. */
function hasDescriptorPaths(): Promise<boolean> {
  descriptorPaths ??= (async () => {
    if (process.platform !== "linux") return false;
    try {
      const held = await HeldByDescriptor.at("/", constants.O_DIRECTORY);
      try {
        return (await realpath(held.path)) === "/";
      } finally {
        await held.close();
      }
    } catch {
      return false;
    }
  })();
  return descriptorPaths;
}
