// Where the server of a data directory listens: a file beside the data that the server writes when it is ready, so that
// commands of the same user find it. It names its process as the owner record does; a file that a dead one left is not believed.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dataFile } from "./data-directory.js";
import { type Owner, ownerState, sameOwner, thisProcess } from "./owner.js";
import { storageError } from "./storage-error.js";

export interface ServerAddress extends Owner {
  readonly url: string;
}

const fileOf = (dir: string): string => join(dir, "server.json");
const largestFileBytes = 16 * 1024;

/** Contract: this process owns the directory. Returns what takes the address back; another server's is left alone. */
export function announceServer(dir: string, url: string): () => void {
  const address: ServerAddress = { url, ...thisProcess() };
  const file = fileOf(dir);
  const draft = `${file}.${process.pid}`;
  try {
    writeFileSync(draft, `${JSON.stringify(address)}\n`, { mode: 0o600 });
    renameSync(draft, file); // Whole or not at all: a reader must not find half an address.
  } catch (error) {
    rmSync(draft, { force: true });
    throw storageError(error, dir);
  }
  return () => {
    const found = readAddress(dir);
    if (found !== undefined && sameOwner(found, address)) rmSync(file, { force: true });
  };
}

/** The server that serves the directory from a process of this machine; undefined when none is known to run. */
export function findServer(dir: string): ServerAddress | undefined {
  const address = readAddress(dir);
  return address !== undefined && ownerState(address, thisProcess()) === "alive" ? address : undefined;
}

/** There is something to read, whether or not a server runs on it. */
export const holdsData = (dir: string): boolean => existsSync(dataFile(dir));

function readAddress(dir: string): ServerAddress | undefined {
  try {
    const text = readFileSync(fileOf(dir), "utf8");
    const address: Partial<ServerAddress> = text.length > largestFileBytes ? {} : JSON.parse(text);
    return typeof address.url === "string" && Number.isSafeInteger(address.pid)
      ? (address as ServerAddress)
      : undefined;
  } catch {
    return undefined; // Not there, or not ours to read: nobody is known to serve.
  }
}
