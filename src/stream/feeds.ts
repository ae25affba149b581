// All open feeds, and what time does to them: heartbeats, a maximum age, and the end of the server. One timer for all.
import type { ThreadKey } from "../log/event-log.js";
import { HeddleError } from "../thread/errors.js";
import { ClosingReason } from "../thread/schema.js";
import { Feed, type Sink } from "./feed.js";
import type { Hub } from "./hub.js";
import { LastingStreams, type StreamTiming } from "./lasting-streams.js";

export type FeedTiming = StreamTiming;

/** How often the timer looks, in parts of a heartbeat. */
const looksPerHeartbeat = 4;

export class Feeds {
  /** Streams that are of no single thread. */
  readonly lasting: LastingStreams;
  readonly #hub: Hub;
  readonly #timing: FeedTiming;
  readonly #open = new Map<Feed, { maxAgeMs: number }>();
  readonly #timer: NodeJS.Timeout;
  #closing = false;

  constructor(hub: Hub, timing: FeedTiming) {
    this.#hub = hub;
    this.#timing = timing;
    this.lasting = new LastingStreams(timing);
    this.#timer = setInterval(() => this.#look(performance.now()), timing.heartbeatMs / looksPerHeartbeat).unref();
  }

  get size(): number {
    return this.#open.size;
  }

  /** A feed that has not started. `head` is the thread's head as just read from the log. */
  open(key: ThreadKey, request: { after: bigint; head: bigint; follow: boolean; sink: Sink }): Feed {
    if (this.#closing) throw new HeddleError("shutting_down", "The server is shutting down: resume elsewhere or later");
    const feed: Feed = new Feed(this.#hub.subscribe(key, request), {
      threadId: key.threadId,
      head: request.head,
      follow: request.follow,
      sink: request.sink,
      onOver: () => this.#open.delete(feed),
    });
    this.#open.set(feed, { maxAgeMs: this.#timing.maxAgeMs * (0.9 + Math.random() * 0.2) });
    return feed;
  }

  /** Ends every feed with Closing, and refuses new ones. */
  close(): void {
    this.#closing = true;
    clearInterval(this.#timer);
    this.lasting.close();
    for (const feed of [...this.#open.keys()]) feed.close(ClosingReason.SHUTDOWN);
  }

  #look(nowMs: number): void {
    for (const [feed, { maxAgeMs }] of this.#open) {
      if (nowMs - feed.openedAt > maxAgeMs) feed.close(ClosingReason.MAX_AGE);
      else if (++feed.quietLooks >= looksPerHeartbeat) feed.heartbeat();
    }
  }
}
