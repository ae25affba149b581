// The body of an answer, unpacked, in bounded memory: what comes over the wire and what it unpacks to are counted apart as
// they come, and the first byte too many ends it. A few kilobytes can unpack to gigabytes.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { ToolFailure } from "../tool.js";
import { oneLine } from "../words.js";
import { webFailure } from "./failure.js";
import { sizeWords } from "./size-words.js";

export interface BodyOptions {
  readonly host: string;
  readonly maxBytes: number;
  /** As they come over the wire; the total where it was announced. */
  onBytes(received: number, total: number | undefined): void;
}

export async function readBody(answer: IncomingMessage, { host, maxBytes, onBytes }: BodyOptions): Promise<Buffer> {
  const total = announcedBytes(answer);
  if (total !== undefined && total > maxBytes) throw tooLarge(host, maxBytes);
  const unpack = unpacking(answer, host);
  let received = 0;
  const count = async function* (source: AsyncIterable<Buffer>) {
    for await (const piece of source) {
      received += piece.length;
      if (received > maxBytes) throw tooLarge(host, maxBytes);
      onBytes(received, total);
      yield piece;
    }
  };
  const pieces: Buffer[] = [];
  let unpacked = 0;
  const keep = async (source: AsyncIterable<Buffer>): Promise<void> => {
    for await (const piece of source) {
      unpacked += piece.length;
      if (unpacked > maxBytes) throw tooLarge(host, maxBytes);
      pieces.push(piece);
    }
  };
  try {
    await (unpack === undefined ? pipeline(answer, count, keep) : pipeline(answer, count, unpack, keep));
    const { errored } = answer.socket;
    if (errored !== null && endsWithConnection(answer)) throw errored;
  } catch (reason) {
    throw worded(reason, host, received);
  }
  return Buffer.concat(pieces);
}

/** What the headers say of the body's size on the wire. */
export function announcedBytes({ headers }: Pick<IncomingMessage, "headers">): number | undefined {
  const length = headers["content-length"];
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}

/** A body that says nothing of its end ends where the connection does, and Node takes it for whole also where that broke. */
const endsWithConnection = ({ headers }: IncomingMessage): boolean =>
  headers["content-length"] === undefined && !/\bchunked\s*$/i.test(headers["transfer-encoding"] ?? "");

/** Undefined: it is not packed. */
function unpacking({ headers }: IncomingMessage, host: string): Duplex | undefined {
  const encoding = (headers["content-encoding"] ?? "").trim().toLowerCase();
  switch (encoding) {
    case "":
    case "identity":
      return undefined;
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "deflate":
      return createInflate();
    case "br":
      return createBrotliDecompress();
    default:
      throw webFailure("EENCODING", `${oneLine(host)} packs its answer as ${oneLine(encoding)}; choose another source`);
  }
}

const tooLarge = (host: string, maxBytes: number): ToolFailure =>
  webFailure(
    "ETOOLARGE",
    `The answer of ${oneLine(host)} is larger than ${sizeWords(maxBytes)}; ask for a smaller page (the limit is agent.web.maxBytes)`,
  );

function worded(reason: unknown, host: string, received: number): unknown {
  const code = reason instanceof ToolFailure ? undefined : (reason as NodeJS.ErrnoException).code;
  if (code === undefined) return reason;
  // What ends too early inside its packing was cut off as well.
  if (/^(?:Z_|ERR_|BROTLI)/i.test(code) && code !== "Z_BUF_ERROR" && code !== "ERR_STREAM_PREMATURE_CLOSE")
    return webFailure("EENCODING", `The answer of ${oneLine(host)} cannot be unpacked; choose another source`, reason);
  const words = `The answer of ${oneLine(host)} was cut off after ${sizeWords(received)}; try again, or choose another source`;
  return webFailure("ECUTOFF", words, reason);
}
