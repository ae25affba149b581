// Reading one file of the workspace: a regular one with a single name.
import type { Stats } from "node:fs";
import { ToolFailure } from "../tool.js";
import { oneLine } from "../words.js";
import { codeOf, systemError } from "./failures.js";
import type { Place } from "./lexical.js";
import { type NamedFile, proveOnlyName } from "./only-name.js";
import type { ReadHandle } from "./waiting.js";

export interface OpenFile {
  /** Contract: closed by whoever opened it. */
  readonly handle: ReadHandle;
  readonly place: Place;
  readonly size: number;
  /** Permission bits. */
  readonly mode: number;
}

export interface FoundFile extends NamedFile {
  readonly place: Place;
  /** As it was asked for, for words. */
  readonly path: string;
}

/** Opens what is held. Throws ESTALE when it changes meanwhile: whoever asks may look once more. */
export async function openFound({ held, parent, name, place, path }: FoundFile): Promise<OpenFile> {
  refuseIrregular(held.stats, path);
  await proveOnlyName({ held, parent, name });
  const handle = await held.openToRead();
  return { handle, place, size: held.stats.size, mode: held.stats.mode & 0o777 };
}

/** A name that is replaced all the time may change during one look, hardly during each of these. */
const looks = 8;

/** Does it again when what it looked at changes meanwhile. */
export async function unlessStale<T>(work: () => Promise<T>): Promise<T> {
  for (let look = 1; ; look++) {
    try {
      return await work();
    } catch (reason) {
      if (look === looks || codeOf(reason) !== "ESTALE") throw reason;
    }
  }
}

/** A device, a pipe or a socket is not a file; one with several names may be a file from outside. */
export function refuseIrregular(stats: Stats, path: string): void {
  if (stats.isDirectory()) throw systemError("EISDIR");
  if (!stats.isFile())
    throw new ToolFailure(`Not a regular file: ${oneLine(path)}; give the path of a file`, { code: "EINVAL" });
  if (stats.nlink > 1)
    throw new ToolFailure(
      `Refused: ${oneLine(path)} has more than one name (hard links), and may be a file from outside the workspace; choose another file`,
      { code: "EMLINK" },
    );
}

/** All of it. A ToolFailure when it is larger than `maxBytes`, also when it grows meanwhile. */
export async function readWhole({ handle, size }: OpenFile, path: string, maxBytes: number): Promise<Buffer> {
  if (size > maxBytes) throw tooLarge(path, maxBytes);
  const pieces: Buffer[] = [];
  let total = 0;
  // One byte more than is said to be there: a full buffer means that it has grown.
  for (let room = size + 1; ; room = pieceBytes) {
    const buffer = Buffer.allocUnsafe(Math.min(room, maxBytes + 1 - total));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, null);
    total += bytesRead;
    if (total > maxBytes) throw tooLarge(path, maxBytes);
    pieces.push(buffer.subarray(0, bytesRead));
    // A file gives less than was asked for only at its end.
    if (bytesRead < buffer.length) return Buffer.concat(pieces, total);
  }
}

const pieceBytes = 64 * 1024;

/** The bytes as text, byte-order mark and all, so that what is written back is the same. A ToolFailure when they are no text. */
export function asText(bytes: Uint8Array, path: string): string {
  const text = decoded(bytes);
  if (text === undefined || text.includes("\0"))
    throw new ToolFailure(`Binary file: ${oneLine(path)} is not UTF-8 text; choose another file`, { code: "EILSEQ" });
  return text;
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const tooLarge = (path: string, maxBytes: number): ToolFailure =>
  new ToolFailure(
    `Too large: ${oneLine(path)} has more than ${maxBytes} bytes; read a part of it, or choose another file`,
    {
      code: "EFBIG",
    },
  );
