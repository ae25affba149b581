// Responses that are being followed: each is folded once, however many follow it, and its events are encoded once. A follower is a
// position. One that is slow, or comes late, finds what it needs in what is kept; for what is not kept any more it gets a fold of its own.
import type { StoredResponse } from "../../responses.js";
import { CatchUp } from "./catch-up.js";
import type { NumberedFrame } from "./events.js";
import { LiveResponse } from "./live-response.js";
import type { Piece } from "./piece.js";
import { responseId } from "./response-id.js";

/** Folds of one follower's own. The last one stays to the end: who falls behind again and again costs no more than this. */
const mostFolds = 2;

type Fold = (stored: StoredResponse, signal: AbortSignal) => AsyncGenerator<NumberedFrame, unknown>;

export class LiveResponses {
  readonly #fold: Fold;
  readonly #live = new Map<string, LiveResponse>();

  constructor(fold: Fold) {
    this.#fold = fold;
  }

  /** Responses that are folded now. */
  get size(): number {
    return this.#live.size;
  }

  /** Everything after the number, to the response's end; waits for what is to come. Rejects when it cannot be read. */
  async *follow(stored: StoredResponse, after: number, signal: AbortSignal): AsyncGenerator<Piece> {
    const live = this.#join(stored);
    const reader = new Reader(live, () => this.#fold(stored, signal));
    let wake = (): void => {};
    const onAbort = (): void => {
      live.forget(wake);
      wake();
    };
    signal.addEventListener("abort", onAbort);
    try {
      let position = after;
      for (;;) {
        const piece = await reader.read(position);
        if (piece) {
          position = piece.last;
          yield piece;
        } else if (live.isOver || signal.aborted) break;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
            live.onNews(resolve);
          });
      }
      live.rethrow();
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#leave(stored, live);
      await reader.close();
    }
  }

  #join(stored: StoredResponse): LiveResponse {
    const id = responseId(stored);
    const live = this.#live.get(id) ?? new LiveResponse((signal) => this.#fold(stored, signal));
    this.#live.set(id, live);
    live.followers++;
    return live;
  }

  #leave(stored: StoredResponse, live: LiveResponse): void {
    if (--live.followers > 0) return;
    live.stop();
    if (this.#live.get(responseId(stored)) === live) this.#live.delete(responseId(stored));
  }
}

/** Where one follower reads: in what is kept for all, or in a fold of its own. */
class Reader {
  readonly #live: LiveResponse;
  readonly #fold: () => AsyncGenerator<NumberedFrame, unknown>;
  #own: CatchUp | undefined;
  #folds = 0;

  constructor(live: LiveResponse, fold: () => AsyncGenerator<NumberedFrame, unknown>) {
    this.#live = live;
    this.#fold = fold;
  }

  /** Undefined when there is nothing new. */
  async read(position: number): Promise<Piece | undefined> {
    this.#live.reached(position);
    const isBehind = this.#live.kept.isBehind(position);
    if (!isBehind && !this.#own) return this.#live.kept.after(position);
    if (!isBehind && this.#folds < mostFolds) {
      await this.close();
      return this.read(position); // It may have fallen behind meanwhile.
    }
    this.#own ??= this.#begin();
    return this.#own.read({ after: position, before: this.#live.kept.next });
  }

  #begin(): CatchUp {
    this.#folds++;
    return new CatchUp(this.#fold());
  }

  async close(): Promise<void> {
    await this.#own?.close();
    this.#own = undefined;
  }
}
