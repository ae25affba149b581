// What a tool says when it is asked for words. Its functions are other people's code, and types are gone by now.

/** Undefined where it has no words, stumbles over them, or gives something else. */
export function toolWords(say: () => unknown): string | undefined {
  try {
    const words = say();
    if (words === undefined || typeof words === "string") return words;
    // An async function of an author's may reject, and nobody else listens.
    Promise.resolve(words).catch(() => {});
  } catch {
    // It has none.
  }
  return undefined;
}
