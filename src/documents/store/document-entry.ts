// What is kept of a document beside its passages.

export interface DocumentEntry {
  /** Never used twice: a document that is replaced gets a new one, and with it its passages. */
  readonly number: number;
  readonly collection: string;
  readonly name: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  /** In hex. */
  readonly sha256: string;
  readonly passages: number;
  /** How many values hold them (passage-leaf.ts). */
  readonly leaves: number;
  /** The version of what read and cut it: bytes that are the same are read again by a newer one. */
  readonly reader: number;
  readonly updateTimeMs: number;
}

export const encodeEntry = (entry: DocumentEntry): Buffer => Buffer.from(JSON.stringify(entry));

export const decodeEntry = (stored: Buffer): DocumentEntry => JSON.parse(stored.toString("utf8"));
