// The LMDB environment of a data directory and its tables.
import { type Database, open, type RootDatabase } from "lmdb";

export type Table = Database<Buffer, Buffer>;

export interface Environment {
  readonly root: RootDatabase<Buffer, Buffer>;
  /** Version of the layout, and the owner. */
  readonly meta: Table;
}

export interface Tables extends Environment {
  /** Segments: segment.ts. */
  readonly events: Table;
  /** Documents of threads. */
  readonly threads: Table;
  /** Documents of removed threads (L7). Apart, so that lists need not step over them. */
  readonly tombstones: Table;
  readonly calls: Table;
  readonly callIndex: Table;
  readonly bodies: Table;
  readonly busy: Table;
  /** Removed threads whose frames, calls and bodies are not all gone yet. */
  readonly purges: Table;
}

export type TableName = Exclude<keyof Tables, "root">;

/** Set, so that a directory written on a machine with larger memory pages looks the same. */
export const pageBytes = 4096;

const tablesAtMost = 16;
const binary = { encoding: "binary", keyEncoding: "binary" } as const;

/** Undefined for a reader of a directory that no writer has begun. */
export function openEnvironment(path: string, readOnly: boolean): Environment | undefined {
  const options = {
    path,
    readOnly,
    noSubdir: false,
    maxDbs: tablesAtMost,
    pageSize: pageBytes,
    // A commit is fdatasync of the pages, then a synchronous write of the meta page, and only then visible to any reader
    // and resolved: L4 by construction. With overlapping syncs, readers see a commit before it is on disk.
    overlappingSync: false,
    // The commit queue makes its own groups. With lmdb-js's, a failed commit also rejects a promise that nobody can reach,
    // which ends the process.
    eventTurnBatching: false,
    permissionsMode: 0o600,
    ...binary,
  };
  const root = open<Buffer, Buffer>(options);
  const meta = openTable(root, "meta");
  if (meta !== undefined) return { root, meta };
  void root.close();
  return undefined;
}

/** A writer makes the tables that are missing; a reader gets undefined when one is. */
export function openTables(environment: Environment): Tables | undefined {
  const { root } = environment;
  const opened = {
    events: openTable(root, "events"),
    threads: openTable(root, "threads"),
    tombstones: openTable(root, "tombstones"),
    calls: openTable(root, "calls"),
    callIndex: openTable(root, "callIndex"),
    bodies: openTable(root, "bodies"),
    busy: openTable(root, "busy"),
    purges: openTable(root, "purges"),
  };
  if (Object.values(opened).includes(undefined)) return undefined;
  return { ...environment, ...(opened as Omit<Tables, keyof Environment>) };
}

/** The typings leave out that a reader gets undefined for a table that is not there. */
const openTable = (root: RootDatabase<Buffer, Buffer>, name: TableName): Table | undefined =>
  root.openDB<Buffer, Buffer>(name, { ...binary });
