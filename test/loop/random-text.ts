// Text as bad as it comes: what ends a line, turns it around or hides in it, pairs of surrogates and halves of them.
import fc from "fast-check";

/** Nothing of it looks like a secret: what is redacted cannot be compared. */
const units = [
  "a",
  "b",
  "a b",
  "\n",
  "\t",
  '"',
  "\\",
  "é",
  "漢",
  "😀",
  "👩‍👧",
  "\u202e",
  "\u2028",
  "\u0007",
  "\x1b[31m",
  "\ud83d",
  "\udc00",
];

export const text = (maxLength = 12): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...units), { maxLength }).map((parts) => parts.join(""));

/** The text in pieces, cut at any unit: also through a pair of surrogates. */
export function cutAt(whole: string, cuts: readonly number[]): string[] {
  const at = [...new Set(cuts.map((cut) => cut % (whole.length + 1)))].sort((a, b) => a - b);
  return [...at, whole.length]
    .map((end, index) => whole.slice(at[index - 1] ?? 0, end))
    .filter((piece) => piece !== "");
}

export type Pause = "none" | "microtask" | "immediate" | "timer";

/** Where something else gets its turn. Most pieces follow each other at once. */
export const pause: fc.Arbitrary<Pause> = fc.constantFrom("none", "none", "none", "microtask", "immediate", "timer");

export async function take(pause: Pause): Promise<void> {
  if (pause === "microtask") await Promise.resolve();
  if (pause === "immediate") await new Promise<void>((resolve) => setImmediate(resolve));
  if (pause === "timer") await new Promise<void>((resolve) => setTimeout(resolve, 1));
}
