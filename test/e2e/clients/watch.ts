// A client at work: what it has seen so far, and how to wait until it has seen something.
import type { Frame, StreamClient, StreamOptions, StreamRequest, Target } from "./client.js";
import { StreamFailure } from "./failure.js";

export class Watch {
  readonly frames: Frame[] = [];
  readonly #leave = new AbortController();
  readonly #over: Promise<StreamFailure | undefined>;
  #wake: () => void = () => {};
  #isOver = false;

  constructor(
    client: StreamClient,
    target: Target,
    request: StreamRequest,
    options: Omit<StreamOptions, "signal"> = {},
  ) {
    this.#over = this.#read(client.frames(target, request, { ...options, signal: this.#leave.signal }));
    // Whoever waits for the end sees the reason; that nobody waits yet is no accident.
    this.#over.catch(() => {});
  }

  /** Resolves when a frame has the field; rejects when the stream is over without it. */
  async until(payload: string): Promise<void> {
    while (!this.frames.some((frame) => payload in frame)) {
      if (this.#isOver) throw new Error(`the stream ended without ${payload}: ${await this.#over}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** How it ended by itself: undefined when well. */
  end(): Promise<StreamFailure | undefined> {
    return this.#over;
  }

  /** Leaves, and says what the library calls that. */
  leave(): Promise<StreamFailure | undefined> {
    this.#leave.abort();
    return this.#over;
  }

  async #read(frames: AsyncIterable<Frame>): Promise<StreamFailure | undefined> {
    try {
      for await (const frame of frames) {
        this.frames.push(frame);
        this.#wake();
      }
      return undefined;
    } catch (reason) {
      if (reason instanceof StreamFailure) return reason;
      throw reason;
    } finally {
      this.#isOver = true;
      this.#wake();
    }
  }
}
