// A frame is an event as it goes over the wire: one flags byte, four bytes of length (big-endian), the message.
// The envelope is the same in gRPC, gRPC-Web and Connect streaming, so that one encoding serves them all.
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { HeddleError } from "./errors.js";
import { type ThreadEvent, ThreadEventSchema } from "./event.js";

export const envelopeBytes = 5;

export function encodeFrame(event: ThreadEvent): Buffer {
  const message = toBinary(ThreadEventSchema, event);
  const frame = Buffer.allocUnsafe(envelopeBytes + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, envelopeBytes);
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
