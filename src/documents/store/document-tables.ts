// The LMDB environment of the documents: its directory, its version and its tables.
import { existsSync } from "node:fs";
import { seal, unseal } from "../../log/checksum.js";
import { dataFile, makeDirectory, syncDirectory } from "../../log/data-directory.js";
import { checkDataFile } from "../../log/lmdb-file.js";
import { type Environment, openEnvironment, type Table } from "../../log/lmdb-tables.js";
import { damaged, storageError } from "../../log/storage-error.js";
import { HeddleError } from "../../thread/errors.js";

export interface DocumentTables extends Environment {
  readonly documents: Table;
  readonly passages: Table;
  readonly vectors: Table;
}

export type DocumentTableName = Exclude<keyof DocumentTables, "root">;

/** Of the layout that document-keys.ts and its neighbours describe. Raised when an older Heddle could not read it. */
const layoutVersion = 1;
const versionKey = Buffer.from("version");

/** Makes the directory unless it is there. Contract: this process owns the data directory around it. */
export function openTables(dir: string): DocumentTables {
  try {
    makeDirectory(dir);
    if (existsSync(dataFile(dir))) checkDataFile(dataFile(dir));
    const tables = tablesIn(openEnvironment(dir, false)!);
    try {
      checkVersion(tables, dir);
      syncDirectory(dir);
      return tables;
    } catch (error) {
      void tables.root.close();
      throw error;
    }
  } catch (error) {
    throw storageError(error, dir);
  }
}

export function tablesIn({ root, meta }: Environment): DocumentTables {
  const table = (name: string): Table => root.openDB(name, { encoding: "binary", keyEncoding: "binary" });
  return { root, meta, documents: table("documents"), passages: table("passages"), vectors: table("vectors") };
}

function checkVersion({ root, meta }: DocumentTables, dir: string): void {
  const record = meta.getBinary(versionKey);
  if (record === undefined) {
    root.transactionSync(() => {
      meta.putSync(versionKey, seal(Buffer.from([layoutVersion])));
    });
    return;
  }
  const found = unseal(record)?.[0];
  if (found === undefined) throw damaged("The version record", dir);
  if (found === layoutVersion) return;
  throw new HeddleError(
    "directory_version",
    `${dir} has layout version ${found}, and this Heddle reads ${layoutVersion}: use the Heddle that wrote it, or remove the directory and index the documents again`,
    { detail: { path: dir, found, supported: layoutVersion } },
  );
}
