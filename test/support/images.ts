// Images for tests: the smallest that begin as they should.
import { createHash } from "node:crypto";

/** A PNG by its first bytes, of any length. */
export function pngBytes(bytes = 68): Buffer {
  const beginning = Buffer.from("89504e470d0a1a0a", "hex");
  const filling = createHash("sha256").update("loom").digest();
  return Buffer.concat([beginning, Buffer.alloc(bytes - beginning.length, filling)]);
}

export const pngUrl = (bytes?: number): string => `data:image/png;base64,${pngBytes(bytes).toString("base64")}`;
