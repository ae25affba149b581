// The vectors of a leaf's passages as they are stored: which model they are of, how long one is, and all of them.
//
//   length of the rest of the header (2) · header, JSON · vectors, Float32, little-endian

export interface VectorBlock {
  readonly model: string;
  readonly dimensions: number;
  /** Of length 1 each, or of zeros where the model refused the text; one behind the other. */
  readonly vectors: Float32Array;
}

export function encodeBlock({ model, dimensions, vectors }: VectorBlock): Buffer {
  const header = Buffer.from(JSON.stringify({ model, dimensions }));
  const block = Buffer.allocUnsafe(2 + header.length + vectors.length * Float32Array.BYTES_PER_ELEMENT);
  block.writeUInt16BE(header.length, 0);
  header.copy(block, 2);
  let at = 2 + header.length;
  for (const number of vectors) at = block.writeFloatLE(number, at);
  return block;
}

export function decodeBlock(block: Buffer): VectorBlock {
  const { model, dimensions, start } = headerOf(block);
  const vectors = new Float32Array((block.length - start) / Float32Array.BYTES_PER_ELEMENT);
  for (let index = 0; index < vectors.length; index++)
    vectors[index] = block.readFloatLE(start + index * Float32Array.BYTES_PER_ELEMENT);
  return { model, dimensions, vectors };
}

/** For who needs no vectors: to decode those takes a thousand times as long. */
export const modelOf = (block: Buffer): string => headerOf(block).model;

function headerOf(block: Buffer): { model: string; dimensions: number; start: number } {
  const start = 2 + block.readUInt16BE(0);
  const { model, dimensions } = JSON.parse(block.toString("utf8", 2, start)) as { model: string; dimensions: number };
  return { model, dimensions, start };
}

/** Of length 1; zeros stay. */
export function normalized(numbers: readonly number[] | Float32Array): Float32Array {
  const length = Math.hypot(...numbers);
  return Float32Array.from(numbers, (number) => (length > 0 && Number.isFinite(length) ? number / length : 0));
}
