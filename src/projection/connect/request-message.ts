// The one message of a request, within a bound. What is wrong with it is said in the words of Connect's own handler, so that
// a caller cannot tell which of the two it met.
import type { Readable } from "node:stream";
import type { BinaryReadOptions } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { compressedFlag } from "@connectrpc/connect/protocol";
import { HeddleError } from "../../thread/errors.js";
import { envelopeBytes } from "../../thread/frame.js";
import type { LaneCall } from "./lane-call.js";

/** A field that this version does not know would be stored unchecked, and served. */
export const binaryOptions: Partial<BinaryReadOptions> = { readUnknownFields: false };

/** A caller whose request is not complete, and who sends nothing more of it for so long, is told so. */
const quietMs = 30_000;
/** The same for one that sends so little at a time that its request is not complete by then. */
const longestMs = 300_000;

type Kind = "unary" | "server-streaming";

export async function readOneMessage(call: LaneCall, kind: Kind): Promise<Uint8Array> {
  const { exchange, dialect, options } = call;
  const source = exchange.transport.version === 2 ? exchange.transport.stream : exchange.transport.request;
  const maxBytes = options.messageBytes;
  if (dialect.enveloped) return onlyMessage(await readBody(source, envelopedBound(maxBytes, kind)), call, kind);
  const promised = Number(exchange.headers["content-length"] ?? 0);
  if (promised > maxBytes) throw tooLarge(maxBytes, promised);
  return readBody(source, { bytes: maxBytes, beyond: () => tooLarge(maxBytes) });
}

function onlyMessage(body: Buffer, { dialect, options }: LaneCall, kind: Kind): Buffer {
  let message: Buffer | undefined;
  for (let offset = 0; offset < body.length; ) {
    const start = offset + envelopeBytes;
    if (start > body.length) throw incomplete();
    const [flags, length] = [body[offset]!, body.readUInt32BE(offset + 1)];
    if (length > options.messageBytes) throw tooLarge(options.messageBytes, length);
    offset = start + length;
    if (offset > body.length) throw incomplete();
    if (flags & compressedFlag)
      throw new ConnectError("received compressed envelope, but do not know how to decompress", Code.Internal);
    if (flags & ~dialect.endFlag)
      throw new ConnectError(`protocol error: invalid envelope flags ${flags}`, Code.Internal);
    if (flags !== 0) continue;
    if (message) throw extraMessage(kind);
    message = body.subarray(start, offset);
  }
  if (!message) throw new ConnectError(`protocol error: missing input message for ${kind} method`, Code.Unimplemented);
  return message;
}

interface Bound {
  readonly bytes: number;
  /** What is wrong with a body that is longer. */
  readonly beyond: (start: Buffer) => Error;
}

const envelopedBound = (maxBytes: number, kind: Kind): Bound => ({
  bytes: maxBytes + envelopeBytes,
  beyond: (start) => {
    const length = start.readUInt32BE(1);
    return length > maxBytes ? tooLarge(maxBytes, length) : extraMessage(kind);
  },
});

/** Leaves nothing on the source: listeners would keep the body alive for as long as the stream is. */
function readBody(source: Readable, bound: Bound): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const lateAtMs = performance.now() + longestMs;
    let bytes = 0;
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      source.off("data", onData).off("end", onEnd).off("close", onClose);
      act();
    };
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > bound.bytes) settle(() => reject(bound.beyond(joined(chunks))));
      else if (performance.now() > lateAtMs) onLate();
      else timer.refresh();
    };
    const onEnd = (): void => settle(() => resolve(joined(chunks)));
    const onClose = (): void =>
      settle(() => reject(new HeddleError("cancelled", "The caller left in the middle of its request")));
    const onLate = (): void =>
      settle(() => reject(new HeddleError("deadline_exceeded", "The request did not arrive in time")));
    const timer = setTimeout(onLate, quietMs);
    source.on("data", onData).on("end", onEnd).on("close", onClose);
    source.on("error", ignore); // 'close' follows.
  });
}

const ignore = (): void => {};

const joined = (chunks: readonly Buffer[]): Buffer => (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));

const incomplete = () => new ConnectError("protocol error: incomplete envelope", Code.InvalidArgument);

const extraMessage = (kind: Kind) =>
  new ConnectError(`protocol error: received extra input message for ${kind} method`, Code.Unimplemented);

function tooLarge(maxBytes: number, bytes?: number): ConnectError {
  const size = bytes === undefined ? "size" : `size ${bytes}`;
  return new ConnectError(`message ${size} is larger than configured readMaxBytes ${maxBytes}`, Code.ResourceExhausted);
}
