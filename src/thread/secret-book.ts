// A redactor that can be told of more secrets, and to forget them: some come with a request, and go with its thread.
import { createRedactor, type Redactor, type StreamRedactor } from "./redact.js";

export class SecretBook implements Redactor {
  readonly #always: readonly string[];
  readonly #held = new Map<string, number>();
  /** Made when it is next needed: many may change together. */
  #current: Redactor | undefined;

  constructor(always: readonly string[]) {
    this.#always = always;
  }

  text(text: string): string {
    return this.#redactor().text(text);
  }

  cutText(text: string): string {
    return this.#redactor().cutText(text);
  }

  /** What is held later is not looked for in a text that has begun. */
  stream(): StreamRedactor {
    return this.#redactor().stream();
  }

  /** Returns what lets go of them; a secret that others hold too stays. */
  hold(secrets: readonly string[]): () => void {
    const held = [...new Set(secrets)];
    for (const secret of held) this.#held.set(secret, (this.#held.get(secret) ?? 0) + 1);
    this.#current = undefined;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      for (const secret of held) this.#drop(secret);
      this.#current = undefined;
    };
  }

  #drop(secret: string): void {
    const count = (this.#held.get(secret) ?? 1) - 1;
    if (count > 0) this.#held.set(secret, count);
    else this.#held.delete(secret);
  }

  #redactor(): Redactor {
    this.#current ??= createRedactor({ secrets: [...this.#always, ...this.#held.keys()] });
    return this.#current;
  }
}
