// A frame is an event as it goes over the wire: one flags byte, four bytes of length (big-endian), the message.
// The envelope is the same in gRPC, gRPC-Web and Connect streaming, so that one encoding serves them all.
import { fromBinary } from "@bufbuild/protobuf";
import { encode } from "./encode.js";
import { HeddleError } from "./errors.js";
import { type ThreadEvent, ThreadEventSchema } from "./event.js";

export const envelopeBytes = 5;

export const encodeFrame = (event: ThreadEvent): Buffer =>
  withEnvelope(0, encode(ThreadEventSchema, event, envelopeBytes));

/** Bytes behind an envelope. Flags are 0 for a message; the protocols use others for the end of a stream. */
export function envelope(flags: number, bytes: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(envelopeBytes + bytes.length);
  frame.set(bytes, envelopeBytes);
  return withEnvelope(flags, frame);
}

function withEnvelope(flags: number, frame: Buffer): Buffer {
  frame[0] = flags;
  frame.writeUInt32BE(frame.length - envelopeBytes, 1);
  return frame;
}

/** Length of the frame that begins at `offset`, envelope included. */
export const frameLength = (bytes: Buffer, offset: number): number => envelopeBytes + bytes.readUInt32BE(offset + 1);

/** The offset behind `count` frames. */
export function skipFrames(bytes: Buffer, count: number): number {
  let offset = 0;
  for (let skipped = 0; skipped < count; skipped++) offset += frameLength(bytes, offset);
  return offset;
}

export function* decodeFrames(bytes: Buffer): Generator<ThreadEvent> {
  for (let offset = 0; offset < bytes.length; ) {
    const end = offset + frameLength(bytes, offset);
    if (end > bytes.length) throw new HeddleError("internal", "A stored frame ends beyond its span");
    yield fromBinary(ThreadEventSchema, bytes.subarray(offset + envelopeBytes, end));
    offset = end;
  }
}
