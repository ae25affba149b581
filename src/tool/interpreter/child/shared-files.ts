// The scratch folder as both languages share it: each works on a copy of its own in memory, and what one has changed is given to
// the other before it runs. Nothing of it is ever on a disk.
import type { FileChanges, Language } from "./messages.js";

export class SharedFiles {
  readonly #files = new Map<string, Uint8Array>();
  /** What each language has, by identity: a file is never changed in place. */
  readonly #given: Readonly<Record<Language, Map<string, Uint8Array>>> = { python: new Map(), javascript: new Map() };

  /** What the language does not know yet. */
  newFor(language: Language): FileChanges {
    const given = this.#given[language];
    const changed = [...this.#files].filter(([path, data]) => given.get(path) !== data);
    const removed = [...given.keys()].filter((path) => !this.#files.has(path));
    for (const [path, data] of changed) given.set(path, data);
    for (const path of removed) given.delete(path);
    return { changed, removed };
  }

  /** Takes over what the language has done, and returns what is new or changed. */
  take(language: Language, { changed, removed }: FileChanges): FileChanges["changed"] {
    const given = this.#given[language];
    for (const [path, data] of changed) {
      this.#files.set(path, data);
      given.set(path, data);
    }
    for (const path of removed) {
      this.#files.delete(path);
      given.delete(path);
    }
    return changed;
  }
}
