// Keys of the documents' store.
//
//   documents   collection · 0 · name; of a name beyond 1,792 bytes its beginning and the SHA-256 of the whole
//   passages    document number (8) · leaf (4)
//   vectors     document number (8) · leaf (4)
import { createHash } from "node:crypto";

/** Far below LMDB's 1,978 bytes a key, with the collection and the hash. */
const nameBytes = 1_792;

export function documentKey(collection: string, name: string): Buffer {
  const bytes = Buffer.from(name);
  const prefix = collectionPrefix(collection);
  if (bytes.length <= nameBytes) return Buffer.concat([prefix, bytes]);
  return Buffer.concat([prefix, bytes.subarray(0, nameBytes), createHash("sha256").update(bytes).digest()]);
}

/** What all keys of a collection begin with. */
export const collectionPrefix = (collection: string): Buffer => Buffer.from(`${collection}\0`);

/** Above every key of the collection: no name begins with 0xff, for no UTF-8 does. */
export const collectionEnd = (collection: string): Buffer =>
  Buffer.concat([collectionPrefix(collection), Buffer.from([0xff])]);

export function leafKey(documentNumber: number, leaf: number): Buffer {
  const key = Buffer.allocUnsafe(12);
  key.writeBigUInt64BE(BigInt(documentNumber), 0);
  key.writeUInt32BE(leaf, 8);
  return key;
}

/** The next key in LMDB's order. */
export const after = (key: Buffer): Buffer => Buffer.concat([key, Buffer.from([0])]);
