// Documents, bodies and indexes are stored behind a CRC-32 of their bytes (L4). Frames carry theirs per segment: segment.ts.
import { crc32 } from "node:zlib";

const checksumBytes = 4;

export function seal(payload: Uint8Array): Buffer {
  const stored = Buffer.allocUnsafe(checksumBytes + payload.length);
  stored.writeUInt32BE(crc32(payload), 0);
  stored.set(payload, checksumBytes);
  return stored;
}

/** The payload as a view of `stored`; undefined when it is damaged. */
export function unseal(stored: Buffer): Buffer | undefined {
  if (stored.length < checksumBytes) return undefined;
  const payload = stored.subarray(checksumBytes);
  return crc32(payload) === stored.readUInt32BE(0) ? payload : undefined;
}
