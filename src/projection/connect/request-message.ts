// The one message of a request, within a bound. What is wrong with it is said in the words of Connect's own handler, so that
// a caller cannot tell which of the two it met.
import type { BinaryReadOptions } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { compressedFlag } from "@connectrpc/connect/protocol";
import { type Bound, readBody } from "../../server/read-body.js";
import { envelopeBytes } from "../../thread/frame.js";
import type { LaneCall } from "./lane-call.js";

/** A field that this version does not know would be stored unchecked, and served. */
export const binaryOptions: Partial<BinaryReadOptions> = { readUnknownFields: false };

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

const envelopedBound = (maxBytes: number, kind: Kind): Bound => ({
  bytes: maxBytes + envelopeBytes,
  beyond: (start) => {
    const length = start.readUInt32BE(1);
    return length > maxBytes ? tooLarge(maxBytes, length) : extraMessage(kind);
  },
});

const incomplete = () => new ConnectError("protocol error: incomplete envelope", Code.InvalidArgument);

const extraMessage = (kind: Kind) =>
  new ConnectError(`protocol error: received extra input message for ${kind} method`, Code.Unimplemented);

function tooLarge(maxBytes: number, bytes?: number): ConnectError {
  const size = bytes === undefined ? "size" : `size ${bytes}`;
  return new ConnectError(`message ${size} is larger than configured readMaxBytes ${maxBytes}`, Code.ResourceExhausted);
}
