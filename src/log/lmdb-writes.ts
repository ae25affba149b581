// What each change of the log puts into the tables. Everything is copied and encoded here, before the commit queue: the
// caller's buffers are its own again, and nothing can fail in the middle of a batch.
import { bodyOperations } from "./body-pieces.js";
import { seal } from "./checksum.js";
import type { Operation, Write } from "./commit-queue.js";
import type { AppendBatch, CallWrite } from "./event-log.js";
import { callIndexKey, callIndexKeyIn, callKey, callOf, encodePlace, endOf, eventKey, threadOf } from "./lmdb-keys.js";
import type { TableName, Tables } from "./lmdb-tables.js";
import { packSegments } from "./segment.js";

const mark = Buffer.from([1]);

/** Entries that one step of a purge takes away. */
const purgeEntries = 256;

export const createWrite = (thread: Buffer, document: Uint8Array): Write => [
  { table: "threads", key: thread, value: seal(document) },
];

export function appendWrite(thread: Buffer, head: bigint, batch: AppendBatch): Write {
  const operations: Operation[] = [];
  for (const { first, value } of packSegments(batch.frames, head + 1n)) {
    operations.push({ table: "events", key: eventKey(thread, first), value });
  }
  if (batch.document !== undefined) operations.push({ table: "threads", key: thread, value: seal(batch.document) });
  if (batch.busy !== undefined) operations.push({ table: "busy", key: thread, ...(batch.busy && { value: mark }) });
  for (const call of batch.calls ?? []) addCall(operations, thread, head, call);
  for (const body of batch.bodies ?? []) for (const piece of bodyOperations(thread, body)) operations.push(piece);
  return operations;
}

function addCall(operations: Operation[], thread: Buffer, head: bigint, call: CallWrite): void {
  const key = callKey(thread, call.createdSequence, call.callId);
  operations.push({ table: "calls", key, value: seal(call.document) });
  // It was indexed with its first document, which came with its Created.
  if (call.createdSequence <= head) return;
  const place = seal(encodePlace(thread, call.createdSequence));
  operations.push({ table: "callIndex", key: callIndexKeyIn(thread, call.callId), value: place });
}

export const removeWrite = (thread: Buffer, tombstone: Uint8Array): Write => [
  { table: "threads", key: thread },
  { table: "busy", key: thread },
  { table: "tombstones", key: thread, value: seal(tombstone) },
  { table: "purges", key: thread, value: mark },
];

/** The next step of a purge. The last one takes the mark away; afterwards there is nothing to do, and the step is empty. */
export function purgeWrite(tables: Tables, thread: Buffer): Write {
  if (!tables.purges.doesExist(thread)) return [];
  const operations: Operation[] = [];
  for (const table of ["events", "calls", "bodies"] as const satisfies readonly TableName[]) {
    const range = { start: thread, end: endOf(thread), limit: purgeEntries - operations.length };
    if (range.limit <= 0) return operations;
    for (const key of tables[table].getKeys(range)) {
      operations.push({ table, key });
      if (table === "calls") operations.push({ table: "callIndex", key: indexOf(key) });
    }
  }
  if (operations.length < purgeEntries) operations.push({ table: "purges", key: thread });
  return operations;
}

const indexOf = (key: Buffer): Buffer => callIndexKey(threadOf(key).tenant, callOf(key));
