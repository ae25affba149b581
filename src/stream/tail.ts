// The newest frames of one thread, read from the log once and shared by everyone who follows it live. A subscriber that
// is too far behind for the tail reads the log itself; the tail never waits for anyone (S2).
import type { EventLog, Span, ThreadKey } from "../log/event-log.js";
import { cutSpan, joinSpans } from "./span.js";

export const tailLimits = {
  /** Frames kept for subscribers that are a little behind. */
  keptBytes: 256 * 1024,
  /** One read of the log, and so the most that one write of a live subscriber carries. */
  readBytes: 64 * 1024,
};

/** What became of the thread while it was followed. */
export type TailEnd = { readonly kind: "removed" } | { readonly kind: "failed"; readonly error: unknown };

export class Tail {
  readonly #log: EventLog;
  readonly #key: ThreadKey;
  readonly #stop = new AbortController();
  #spans: Span[] = [];
  #bytes = 0;
  /** Everything after it, up to the head, is in the tail. */
  #start: bigint;
  #head: bigint;
  #end: TailEnd | undefined;
  readonly #followers = new Set<() => void>();
  /** What subscribers at one position get: made once, and used by all that are at it. */
  #joined: Span | undefined;

  constructor(log: EventLog, key: ThreadKey, head: bigint) {
    this.#log = log;
    this.#key = key;
    this.#start = head;
    this.#head = head;
    void this.#follow();
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
    this.#stop.abort();
    this.#followers.clear();
  }

  async #follow(): Promise<void> {
    try {
      for (;;) {
        const news = await this.#log.waitBeyond(this.#key, this.#head, this.#stop.signal);
        if (news === "removed") return this.#finish({ kind: "removed" });
        const span = await this.#log.read(this.#key, this.#head, tailLimits.readBytes);
        if (this.#stop.signal.aborted) return;
        if (span) this.#add(span);
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#finish({ kind: "failed", error });
    }
  }

  #add(span: Span): void {
    this.#spans.push(span);
    this.#bytes += span.bytes.length;
    this.#head = span.last;
    this.#joined = undefined;
    while (this.#bytes > tailLimits.keptBytes && this.#spans.length > 1) {
      const dropped = this.#spans.shift()!;
      this.#bytes -= dropped.bytes.length;
      this.#start = dropped.last;
    }
    this.#tellFollowers();
  }

  #finish(end: TailEnd): void {
    this.#end = end;
    this.#tellFollowers();
  }

  #tellFollowers(): void {
    for (const callback of this.#followers) callback();
  }
}
