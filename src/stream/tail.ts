// The newest frames of one thread, had from the log once and shared by everyone who follows it live. A subscriber that
// is too far behind for the tail reads the log itself; the tail never waits for anyone (S2).
import type { EventLog, LogWatcher, Span, ThreadKey } from "../log/event-log.js";
import { cutSpan, joinSpans } from "./span.js";

export const tailLimits = {
  /** Frames kept for subscribers that are a little behind. */
  keptBytes: 256 * 1024,
  /** One read of the log, and so the most that one write of a live subscriber carries. */
  readBytes: 64 * 1024,
};

/** What became of the thread while it was followed. */
export type TailEnd = { readonly kind: "removed" } | { readonly kind: "failed"; readonly error: unknown };

export interface TailOptions {
  /** The thread's head as just read from the log. */
  readonly head: bigint;
  /** There is news for those who follow, or so much of it that it cannot wait: to be answered by `tellFollowers`. */
  readonly onNews: (tail: Tail) => void;
}

export class Tail {
  readonly #log: EventLog;
  readonly #key: ThreadKey;
  readonly #onNews: (tail: Tail) => void;
  readonly #unwatch: () => void;
  #spans: Span[] = [];
  #bytes = 0;
  /** Everything after it, up to the head, is in the tail. */
  #start: bigint;
  #head: bigint;
  #end: TailEnd | undefined;
  #isClosed = false;
  /** The newest head that the log has told of. */
  #newest: bigint;
  #isReading = false;
  #toldMs = Number.NEGATIVE_INFINITY;
  #untold: "nothing" | "some" | "a write full" = "nothing";
  #untoldBytes = 0;
  readonly #followers = new Set<() => void>();
  /** What subscribers at one position get: made once, and used by all that are at it. */
  #joined: Span | undefined;

  constructor(log: EventLog, key: ThreadKey, { head, onNews }: TailOptions) {
    this.#log = log;
    this.#key = key;
    this.#onNews = onNews;
    this.#start = head;
    this.#head = head;
    this.#newest = head;
    this.#unwatch = log.watch(key, head, this.#watcher());
  }

  get head(): bigint {
    return this.#head;
  }

  get end(): TailEnd | undefined {
    return this.#end;
  }

  /** A position before this one is not in the tail: read the log. */
  get start(): bigint {
    return this.#start;
  }

  /** Calls back whenever there is news, until `unfollow`. The caller looks first: news that is there already does not call. */
  follow(callback: () => void): void {
    this.#followers.add(callback);
  }

  unfollow(callback: () => void): void {
    this.#followers.delete(callback);
  }

  /** They have been told since then, and what there is fits into one write. */
  canWait(sinceMs: number): boolean {
    return this.#toldMs > sinceMs && this.#untold !== "a write full";
  }

  tellFollowers(nowMs: number): void {
    this.#toldMs = nowMs;
    this.#untold = "nothing";
    this.#untoldBytes = 0;
    for (const callback of this.#followers) callback();
  }

  /** What is after a position, all of it or up to `readBytes`; undefined at the head. The position is not before `start`. */
  after(position: bigint): Span | undefined {
    if (position >= this.#head) return undefined;
    if (this.#joined?.first === position + 1n) return this.#joined;
    const from = this.#spans.findIndex((span) => span.last > position);
    if (from < 0) return undefined;
    const ready = [cutSpan(this.#spans[from]!, position, this.#head)];
    let bytes = ready[0]!.bytes.length;
    for (let next = from + 1; next < this.#spans.length && bytes < tailLimits.readBytes; next++) {
      ready.push(this.#spans[next]!);
      bytes += this.#spans[next]!.bytes.length;
    }
    this.#joined = joinSpans(ready);
    return this.#joined;
  }

  close(): void {
    this.#isClosed = true;
    this.#unwatch();
    this.#followers.clear();
  }

  #watcher(): LogWatcher {
    return {
      appended: (head, span) => {
        this.#newest = head;
        if (this.#isReading) return;
        if (span?.first === this.#head + 1n) this.#add(span);
        else void this.#readUpToNewest();
      },
      removed: () => this.#finish({ kind: "removed" }),
      failed: (error) => this.#finish({ kind: "failed", error }),
    };
  }

  /** What is appended while it reads, it reads as well. */
  async #readUpToNewest(): Promise<void> {
    this.#isReading = true;
    try {
      while (this.#head < this.#newest) {
        const span = await this.#log.read(this.#key, this.#head, tailLimits.readBytes);
        if (this.#isClosed || this.#end || !span) break;
        this.#add(span);
      }
    } catch (error) {
      if (!this.#isClosed) this.#finish({ kind: "failed", error });
    }
    this.#isReading = false;
  }

  #add(span: Span): void {
    this.#spans.push(span);
    this.#bytes += span.bytes.length;
    this.#untoldBytes += span.bytes.length;
    this.#head = span.last;
    this.#joined = undefined;
    while (this.#bytes > tailLimits.keptBytes && this.#spans.length > 1) {
      const dropped = this.#spans.shift()!;
      this.#bytes -= dropped.bytes.length;
      this.#start = dropped.last;
    }
    this.#haveNews();
  }

  #finish(end: TailEnd): void {
    if (this.#end) return;
    this.#end = end;
    this.#haveNews();
  }

  /** Once, and once more when there is so much that it cannot wait. */
  #haveNews(): void {
    const untold = this.#untoldBytes < tailLimits.readBytes ? "some" : "a write full";
    if (this.#untold === untold) return;
    this.#untold = untold;
    this.#onNews(this);
  }
}
