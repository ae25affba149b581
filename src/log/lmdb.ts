// Opens a data directory as an EventLog over LMDB.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import {
  checkVersion,
  claimDirectory,
  dataFile,
  makeDirectory,
  noData,
  requireDirectory,
  syncDirectory,
} from "./data-directory.js";
import { DiskSpace } from "./disk-space.js";
import type { EventLog } from "./event-log.js";
import { checkDataFile } from "./lmdb-file.js";
import { LmdbLog } from "./lmdb-log.js";
import { LmdbReader } from "./lmdb-reader.js";
import { LmdbSession } from "./lmdb-session.js";
import { type Environment, openEnvironment } from "./lmdb-tables.js";
import { isHeard } from "./owner-socket.js";
import { countReader, refuseReadersHere } from "./readers-here.js";
import { storageError } from "./storage-error.js";

export interface LmdbLogOptions {
  /** The data directory. Made, with mode 0700, unless it is there. */
  readonly dir: string;
  /** Only look: needs no ownership, works beside a running server, makes nothing. In one process the owner must come first. */
  readonly readOnly?: boolean;
  /** Take the directory from whoever owns it. Whoever asks for it vouches that the owner has ended. */
  readonly takeOver?: boolean;
}

/** Rejects with `directory_in_use`, `directory_version`, `directory_unwritable`, `storage_full` or `storage_failed`. */
export async function openLmdbLog({ dir, readOnly = false, takeOver = false }: LmdbLogOptions): Promise<EventLog> {
  const path = resolve(dir);
  try {
    if (readOnly) requireDirectory(path);
    else prepareDirectory(path);
    if (existsSync(dataFile(path))) checkDataFile(dataFile(path));
    const environment = openEnvironment(path, readOnly);
    if (environment === undefined) throw noData(path);
    return await (readOnly ? reader(path, environment) : owner(path, environment, takeOver)).catch(
      closing(environment),
    );
  } catch (error) {
    throw storageError(error, path);
  }
}

function prepareDirectory(path: string): void {
  makeDirectory(path);
  refuseReadersHere(path);
}

async function reader(path: string, environment: Environment): Promise<EventLog> {
  checkVersion(environment, path);
  return new LmdbReader(new LmdbSession(path, environment, { isReader: true }), countReader(path));
}

/** The claim comes last: once it is made, nothing is left that could fail and leave it behind. */
async function owner(path: string, environment: Environment, takeOver: boolean): Promise<EventLog> {
  checkVersion(environment, path);
  const session = new LmdbSession(path, environment);
  const space = new DiskSpace(dataFile(path));
  try {
    await space.reserve([]);
    syncDirectory(path);
    const claimant = claimDirectory(environment, path, { takeOver, isHeard: await isHeard(path) });
    return new LmdbLog(session, { space, claimant });
  } catch (error) {
    space.close();
    throw error;
  }
}

function closing(environment: Environment): (error: unknown) => Promise<never> {
  return async (error) => {
    await environment.root.close();
    throw error;
  };
}
