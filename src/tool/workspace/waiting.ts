// Who waits for the disk. In the server others do, and the server goes on meanwhile. A thread of its own (offload/) waits itself: it
// has nothing else to do, each hand-over would take longer than most reads, and those who wait for the server's log are not kept
// from that.
import {
  closeSync,
  type Dir,
  fsync as fsyncCallback,
  fsyncSync,
  lstatSync,
  open as openCallback,
  opendirSync,
  openSync,
  read as readCallback,
  readSync,
  type Stats,
} from "node:fs";
import { lstat, opendir } from "node:fs/promises";
import { promisify } from "node:util";
import { isMainThread } from "node:worker_threads";

/** What is used of a FileHandle. */
export interface ReadHandle extends AsyncDisposable {
  read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number | null,
  ): Promise<{ readonly bytesRead: number; readonly buffer: Buffer }>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

const openElsewhere = promisify(openCallback);
const readElsewhere = promisify(readCallback);
const syncElsewhere = promisify(fsyncCallback);

/** A bare descriptor. */
export const openDescriptor = async (path: string, flags: number): Promise<number> =>
  isMainThread ? openElsewhere(path, flags, 0) : openSync(path, flags);

export const openToRead = async (path: string, flags: number): Promise<ReadHandle> =>
  isMainThread ? new Handle(await openElsewhere(path, flags, 0)) : new WaitingHandle(openSync(path, flags));

/** In a thread, what is being opened elsewhere when the thread is ended would stay open for good: nobody knows of it. */
export const openToList = async (path: string, bufferSize: number): Promise<Dir> =>
  isMainThread ? opendir(path, { bufferSize }) : opendirSync(path, { bufferSize });

/** What has the name, never where a link leads. */
export const lookAt = async (path: string): Promise<Stats> => (isMainThread ? lstat(path) : lstatSync(path));

/** Letting go of what was opened to be read writes nothing: that is done at once, everything else elsewhere. */
class Handle implements ReadHandle {
  readonly #descriptor: number;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  read(buffer: Buffer, offset: number, length: number, position: number | null) {
    return readElsewhere(this.#descriptor, buffer, offset, length, position);
  }

  sync(): Promise<void> {
    return syncElsewhere(this.#descriptor);
  }

  async close(): Promise<void> {
    closeSync(this.#descriptor);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

class WaitingHandle implements ReadHandle {
  readonly #descriptor: number;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  async read(buffer: Buffer, offset: number, length: number, position: number | null) {
    return { bytesRead: readSync(this.#descriptor, buffer, offset, length, position), buffer };
  }

  async sync(): Promise<void> {
    fsyncSync(this.#descriptor);
  }

  async close(): Promise<void> {
    closeSync(this.#descriptor);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
