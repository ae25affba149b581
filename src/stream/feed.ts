// One subscriber's stream: Ready, stored entries, CaughtUp, live entries, Heartbeat, Closing. It writes whole frames to a
// sink while the sink takes them, and stops pulling when it does not: a slow subscriber holds one write, and no queue (S2).
import type { Span } from "../log/event-log.js";
import { HeddleError } from "../thread/errors.js";
import { ClosingReason } from "../thread/schema.js";
import { caughtUpFrame, closingFrame, heartbeatFrame, readyFrame } from "./control.js";
import type { Cursor } from "./hub.js";
import { cutSpan } from "./span.js";

/** Where frames go. Contract: synchronous; `end` is called once and last. */
export interface Sink {
  /** False when the sink is full: the feed waits for `resume`. */
  write(frames: Buffer): boolean;
  /** Nothing follows. With an error, the stream has failed. */
  end(error?: HeddleError): void;
}

export interface FeedOptions {
  readonly threadId: string;
  readonly head: bigint;
  readonly follow: boolean;
  readonly sink: Sink;
  readonly onOver: () => void;
}

/** In this order. `full` and `reading` say why a feed that is not over does not pull. */
type Stage = "replaying" | "live" | "over";

export class Feed {
  readonly #cursor: Cursor;
  readonly #options: FeedOptions;
  #stage: Stage = "replaying";
  #full = false;
  #reading = false;
  readonly #onNews = (): void => this.#pump();
  /** How often the timer has looked since it last wrote. A count, because asking the time for every write would cost more. */
  quietLooks = 0;
  readonly openedAt = performance.now();

  constructor(cursor: Cursor, options: FeedOptions) {
    this.#cursor = cursor;
    this.#options = options;
  }

  get over(): boolean {
    return this.#stage === "over";
  }

  /** Sends Ready and what there is. */
  start(): void {
    this.#write(readyFrame(this.#options.threadId, this.#options.head));
    this.#pump();
  }

  /** The sink takes frames again. */
  resume(): void {
    this.#full = false;
    this.#pump();
  }

  /** Nothing was written for a while: say that we are here. A subscriber that does not read gets none. */
  heartbeat(): void {
    if (this.#stage === "over" || this.#full || this.#reading) return;
    this.#write(heartbeatFrame(this.#options.threadId, this.#cursor.position));
  }

  /** The server ends the stream. What the sink holds, and what it takes of the news at once, goes out first. */
  close(reason: ClosingReason): void {
    if (this.#stage === "over") return;
    this.#sendNews();
    this.#options.sink.write(closingFrame(this.#options.threadId, reason));
    this.#finish();
  }

  fail(error: HeddleError): void {
    this.#finish(error);
  }

  /** The subscriber has gone: nobody reads the sink any more. */
  abandon(): void {
    if (this.#stage === "over") return;
    this.#stage = "over";
    this.#cursor.release();
    this.#options.onOver();
  }

  /** Writes what is ready until the sink is full or nothing is left, then waits for either to change. */
  #pump(): void {
    while (this.#stage !== "over" && !this.#full && !this.#reading && this.#step());
  }

  /** True when it wrote something, and there may be more. */
  #step(): boolean {
    if (this.#stage === "replaying" && this.#cursor.position >= this.#options.head) {
      this.#caughtUp();
      return true;
    }
    if (this.#cursor.behind) {
      void this.#readLog();
      return false;
    }
    const span = this.#cursor.live();
    if (span) this.#send(span);
    else this.#waitForNews();
    return span !== undefined;
  }

  /** What is stored, and nobody has been told of yet. */
  #sendNews(): void {
    while (this.#stage === "live" && !this.#full && !this.#reading && !this.#cursor.behind) {
      const span = this.#cursor.live();
      if (!span) return;
      this.#send(span);
    }
  }

  #caughtUp(): void {
    this.#stage = "live";
    this.#write(caughtUpFrame(this.#options.threadId, this.#options.head));
    if (!this.#options.follow) this.#finish();
  }

  #send(span: Span): void {
    // Not beyond the head that Ready named: CaughtUp stands exactly behind it.
    const cut = this.#stage === "replaying" ? cutSpan(span, this.#cursor.position, this.#options.head) : span;
    this.#cursor.position = cut.last;
    this.#write(cut.bytes);
  }

  async #readLog(): Promise<void> {
    this.#reading = true;
    try {
      const span = await this.#cursor.read();
      this.#reading = false;
      if (this.over) return;
      // Nothing after a position that is before the head: the thread has been removed.
      if (!span) return this.#ended();
      this.#send(span);
      this.#pump();
    } catch (error) {
      this.#reading = false;
      this.#finish(asHeddleError(error));
    }
  }

  #waitForNews(): void {
    if (this.#cursor.end) this.#ended();
    else this.#cursor.follow(this.#onNews);
  }

  #ended(): void {
    const end = this.#cursor.end;
    if (end?.kind === "failed") this.#finish(asHeddleError(end.error));
    else this.close(ClosingReason.THREAD_DELETED);
  }

  #write(frames: Buffer): void {
    this.quietLooks = 0;
    if (!this.#options.sink.write(frames)) this.#full = true;
  }

  #finish(error?: HeddleError): void {
    if (this.#stage === "over") return;
    this.abandon();
    this.#options.sink.end(error);
  }
}

const asHeddleError = (error: unknown): HeddleError =>
  error instanceof HeddleError ? error : new HeddleError("internal", "The stream failed", { cause: error });
