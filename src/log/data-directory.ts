// A data directory: makes it, looks at its version, and takes it for this process (one writer a directory).
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { HeddleError } from "../thread/errors.js";
import { seal, unseal } from "./checksum.js";
import type { Environment } from "./lmdb-tables.js";
import {
  decodeOwner,
  directoryInUse,
  encodeOwner,
  type Owner,
  ownerName,
  ownerState,
  sameOwner,
  thisProcess,
} from "./owner.js";
import { damaged, directoryUnwritable, storageError } from "./storage-error.js";

/** Of the layout that lmdb-keys.ts, segment.ts and the tables describe. Raised when an older Heddle could not read it. */
export const layoutVersion = 1;

/** What the first commits of a new directory take, and some. */
const trialBytes = 512 * 1024;

const versionKey = Buffer.from("version");
const ownerKey = Buffer.from("owner");

export const dataFile = (dir: string): string => join(dir, "data.mdb");

/** Makes the directory for its owner alone, unless it is there, and sees that a store can be begun in it. */
export function makeDirectory(dir: string): void {
  try {
    makeWithParents(dir);
    if (!existsSync(dataFile(dir))) tryWriting(dir);
  } catch (error) {
    throw isFile(dir) ? directoryUnwritable(dir, "it is a file", error) : mkdirError(error, dir);
  }
}

/** Not mkdir's own recursion: it never ends where the system says ENOENT although the parent is there, as /proc does. */
function makeWithParents(dir: string): void {
  if (existsSync(dir) && !isFile(dir)) return;
  const parent = dirname(dir);
  if (parent !== dir) makeWithParents(parent);
  try {
    mkdirSync(dir, { mode: 0o700 });
    syncDirectory(parent);
  } catch (error) {
    // Somebody who starts at the same moment was faster.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST" || isFile(dir)) throw error;
  }
}

/** /proc and the like answer ENOENT: a directory that cannot be made is one that cannot be written. */
function mkdirError(error: unknown, dir: string): HeddleError {
  const known = storageError(error, dir);
  return known.code === "storage_failed" ? directoryUnwritable(dir, (error as Error).message, error) : known;
}

/** LMDB's own attempt would be much the same, but what it says when it fails is not (disk-space.ts). */
function tryWriting(dir: string): void {
  const trial = join(dir, `trial-${process.pid}`);
  try {
    writeFileSync(trial, Buffer.alloc(trialBytes));
  } finally {
    rmSync(trial, { force: true });
  }
}

/** A file's name is on disk only when its directory is. Windows has no such call, and no such need. */
export function syncDirectory(dir: string): void {
  if (process.platform === "win32") return;
  const descriptor = openSync(dir, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** For readers, who make nothing. */
export function requireDirectory(dir: string): void {
  if (!existsSync(dataFile(dir))) throw noData(dir);
}

export const noData = (dir: string): HeddleError =>
  new HeddleError(
    "storage_failed",
    `${dir} holds no Heddle data: start a server on it first, or name another directory`,
    {
      detail: { path: dir },
    },
  );

interface Claim {
  /** Whoever owns it has ended: the caller vouches for it. */
  readonly takeOver: boolean;
  /** A process holds it (owner-socket.ts), whether or not it can be seen. */
  readonly isHeard: boolean;
}

/**
 * Takes the directory for this process, or throws `directory_in_use` or `directory_version`. LMDB's write lock is shared
 * by all processes: of any number that try at once, one finds the record free.
 */
export function claimDirectory(environment: Environment, dir: string, { takeOver, isHeard }: Claim): Owner {
  const { root, meta } = environment;
  const claimant = thisProcess();
  // The callback must not return what put returns: lmdb-js takes a promise there for an asynchronous transaction and then
  // never closes.
  root.transactionSync(() => {
    checkVersion(environment, dir);
    const owner = readOwner(environment, dir);
    const seen = owner === undefined ? "dead" : ownerState(owner, claimant);
    const state = seen === "dead" && isHeard ? "alive" : seen;
    if (owner !== undefined && state !== "dead" && !takeOver) throw directoryInUse(dir, owner, state);
    meta.putSync(versionKey, seal(Buffer.from([layoutVersion])));
    meta.putSync(ownerKey, ownerRecord(claimant));
  });
  return claimant;
}

/** Contract: no commit is under way (a synchronous transaction would cut its batch in two). */
export function releaseDirectory(environment: Environment, dir: string, claimant: Owner): void {
  const { root, meta } = environment;
  root.transactionSync(() => {
    const owner = readOwner(environment, dir);
    if (owner !== undefined && sameOwner(owner, claimant)) meta.removeSync(ownerKey);
  });
}

/**
 * Throws `storage_failed` when another process has taken the directory since: by take-over, or because neither could see the other. What
 * both write would overwrite the other's events. `record`: the claimant's, as `ownerRecord` has it.
 */
export function requireOwnership({ meta }: Environment, dir: string, record: Buffer): void {
  meta.resetReadTxn(); // What was read before may be old by now.
  const found = meta.getBinary(ownerKey);
  if (found?.equals(record)) return;
  const owner = found && unseal(found);
  const name = owner ? ownerName(decodeOwner(owner)) : "another process";
  throw new HeddleError(
    "storage_failed",
    `${dir} was taken by ${name}: nothing more is written here. Stop this server`,
    { detail: { path: dir } },
  );
}

export const ownerRecord = (owner: Owner): Buffer => seal(encodeOwner(owner));

/** Throws `directory_version` for a layout that this version does not know. A new directory has none. */
export function checkVersion({ meta }: Environment, dir: string): void {
  const record = meta.getBinary(versionKey);
  if (record === undefined) return;
  const found = unseal(record)?.[0];
  if (found === undefined) throw damaged("The version record", dir);
  if (found <= layoutVersion) return;
  throw new HeddleError(
    "directory_version",
    `${dir} has layout version ${found}, and this Heddle reads up to ${layoutVersion}: use the Heddle that wrote it, or a newer one`,
    { detail: { path: dir, found, supported: layoutVersion } },
  );
}

function readOwner({ meta }: Environment, dir: string): Owner | undefined {
  const record = meta.getBinary(ownerKey);
  if (record === undefined) return undefined;
  const owner = unseal(record);
  if (owner === undefined) throw damaged("The owner record", dir);
  return decodeOwner(owner);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
