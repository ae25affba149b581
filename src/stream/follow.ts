// A feed as an async iterable, for doors that want messages rather than bytes. One chunk at a time: the next is made when
// this one has been taken.
import type { HeddleError } from "../thread/errors.js";
import type { ThreadEvent } from "../thread/event.js";
import { decodeFrames } from "../thread/frame.js";
import type { Feed, Sink } from "./feed.js";

/** `open` makes the feed upon a sink; its errors are the request's. The signal ends it at once, wherever it waits. */
export async function* follow(open: (sink: Sink) => Promise<Feed>, signal: AbortSignal): AsyncGenerator<ThreadEvent> {
  const slot = new Slot();
  const feed = await open(slot);
  const leave = (): void => {
    feed.abandon();
    slot.end();
  };
  // Not only in `finally`: an iterator whose consumer vanished may never be asked again.
  signal.addEventListener("abort", leave, { once: true });
  try {
    if (signal.aborted) return;
    feed.start();
    for (;;) {
      const chunk = await slot.take();
      if (!chunk) return;
      for (const frames of chunk) yield* decodeFrames(frames);
      feed.resume();
    }
  } finally {
    signal.removeEventListener("abort", leave);
    feed.abandon();
  }
}

/** Holds what was written since the last `take`: the feed stops after each write until it is taken. */
class Slot implements Sink {
  #frames: Buffer[] = [];
  #over: { error: HeddleError | undefined } | undefined;
  #wake: () => void = () => {};

  write(frames: Buffer): boolean {
    this.#frames.push(frames);
    this.#wake();
    return false;
  }

  end(error?: HeddleError): void {
    this.#over ??= { error };
    this.#wake();
  }

  async take(): Promise<readonly Buffer[] | undefined> {
    while (this.#frames.length === 0 && !this.#over) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const frames = this.#frames;
    this.#frames = [];
    if (frames.length > 0) return frames;
    if (this.#over?.error) throw this.#over.error;
    return undefined;
  }
}
