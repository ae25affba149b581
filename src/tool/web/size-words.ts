// Bytes in words: `512 bytes`, `14 KB`, `2.3 MB`. Thousands and not 1,024s, as download pages count.
import { counted } from "../words.js";

export function sizeWords(bytes: number): string {
  if (bytes < 1_000) return counted(bytes, "byte", "bytes");
  if (bytes < 999_500) return `${Math.round(bytes / 1_000)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
