// Bodies lie in pieces, each under the offset of its first byte: a body may be written in several appends and is read
// from any offset without reading what comes before.
import type { Database } from "lmdb";
import type { ToolCallId } from "../thread/ids.js";
import { seal, unseal } from "./checksum.js";
import type { Operation } from "./commit-queue.js";
import type { BodyWrite } from "./event-log.js";
import { bodyKey, bodyPrefix, endOf, sequenceAt } from "./lmdb-keys.js";
import { damaged } from "./storage-error.js";

/** Largest stored piece: what reading one byte may cost. */
export const pieceBytes = 256 * 1024;

type Bodies = Database<Buffer, Buffer>;
type BodyName = { callId: ToolCallId; contentId: string };

/** An empty body is one empty piece: it is there, and has no bytes. */
export function bodyOperations(thread: Buffer, body: BodyWrite): Operation[] {
  const operations: Operation[] = [];
  let at = 0;
  do {
    const piece = body.bytes.subarray(at, at + pieceBytes);
    operations.push({ table: "bodies", key: bodyKey(thread, body, body.offset + at), value: seal(piece) });
    at += pieceBytes;
  } while (at < body.bytes.length);
  return operations;
}

/** As EventLog.readBody promises. `path` is for the error about a damaged piece. */
export function readBodyPieces(
  source: { bodies: Bodies; path: string },
  thread: Buffer,
  range: { body: BodyName; offset: number; maxBytes: number },
): Buffer | undefined {
  const prefix = bodyPrefix(thread, range.body);
  const start = pieceAtOrBefore(source.bodies, prefix, bodyKey(thread, range.body, range.offset));
  if (start === undefined) return undefined;
  const parts: Buffer[] = [];
  let at = range.offset;
  let left = range.maxBytes;
  for (const { key, value } of source.bodies.getRange({ start, end: endOf(prefix) })) {
    const piece = unseal(value);
    const offset = Number(sequenceAt(key, prefix.length));
    if (piece === undefined || offset > at)
      throw damaged(`The body ${range.body.contentId} of a tool call`, source.path);
    const part = piece.subarray(at - offset, at - offset + left);
    parts.push(part);
    at += part.length;
    left -= part.length;
    if (left === 0) break;
  }
  return Buffer.concat(parts);
}

function pieceAtOrBefore(bodies: Bodies, prefix: Buffer, start: Buffer): Buffer | undefined {
  for (const key of bodies.getKeys({ start, end: prefix, reverse: true, limit: 1 })) return key;
  return undefined;
}
