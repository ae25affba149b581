// Places of which there are only so many, taken in the order in which they were asked for.

interface Row {
  taken: number;
  readonly waiting: (() => void)[];
}

export class Places {
  /** By whom they belong to, while any is taken. */
  readonly #rows = new Map<string, Row>();

  /** True when whoever asks now would have to wait. */
  isFull(owner: string, most: number): boolean {
    return (this.#rows.get(owner)?.taken ?? 0) >= most;
  }

  /** Resolves with what gives the place back. Rejects with the signal's reason. */
  async take(owner: string, most: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const row = this.#rows.get(owner) ?? { taken: 0, waiting: [] };
    this.#rows.set(owner, row);
    if (row.taken >= most) await turn(row, signal);
    else row.taken++;
    return () => this.#leave(owner, row);
  }

  /** The next in the row takes the place over. */
  #leave(owner: string, row: Row): void {
    const next = row.waiting.shift();
    if (next) next();
    else if (--row.taken === 0) this.#rows.delete(owner);
  }
}

function turn({ waiting }: Row, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (): void => {
      signal.removeEventListener("abort", leave);
      resolve();
    };
    const leave = (): void => {
      waiting.splice(waiting.indexOf(next), 1);
      reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    waiting.push(next);
  });
}
