// Who follows what. One tail per followed thread, made with its first subscriber and gone with its last. Followers are told at the end
// of the turn in which something was stored: whoever wrote it goes on first, and the disk is at work again while it goes out. Those who
// have been told a moment ago are told a moment later, of all that has come by then: each write wakes its reader and costs more than
// what it carries, and a busy thread would make a thousand a second for each of its subscribers.
import { type EventLog, nameOf, type Span, type ThreadKey } from "../log/event-log.js";
import { Tail, type TailEnd, tailLimits } from "./tail.js";

/** Often enough for any eye. */
const usualMomentMs = 2;

export class Hub {
  readonly #log: EventLog;
  readonly #momentMs: number;
  readonly #tails = new Map<string, { tail: Tail; subscribers: number }>();
  #subscriptions = 0;
  /** Tails with news. */
  #news: Tail[] = [];
  /** Tails with news for those who have been told a moment ago. */
  #waiting: Tail[] = [];

  /** `momentMs`: how soon those who have been told of something are told again. */
  constructor(log: EventLog, { momentMs = usualMomentMs } = {}) {
    this.#log = log;
    this.#momentMs = momentMs;
  }

  get subscriptions(): number {
    return this.#subscriptions;
  }

  /** A subscriber at a position. `head` is the thread's head as just read from the log. */
  subscribe(key: ThreadKey, position: { after: bigint; head: bigint }): Cursor {
    const name = nameOf(key);
    const known = this.#tails.get(name);
    // One that has ended is of no use to a newcomer: what ended it may be over.
    const shared = known && !known.tail.end ? known : { tail: this.#follow(key, position.head), subscribers: 0 };
    this.#tails.set(name, shared);
    shared.subscribers++;
    this.#subscriptions++;
    return new Cursor(this.#log, key, {
      tail: shared.tail,
      after: position.after,
      release: () => {
        this.#subscriptions--;
        if (--shared.subscribers > 0) return;
        shared.tail.close();
        if (this.#tails.get(name) === shared) this.#tails.delete(name);
      },
    });
  }

  #follow(key: ThreadKey, head: bigint): Tail {
    return new Tail(this.#log, key, { head, onNews: (tail) => this.#haveNews(tail) });
  }

  #haveNews(tail: Tail): void {
    if (tail.canWait(performance.now() - this.#momentMs)) {
      if (this.#waiting.push(tail) === 1) setTimeout(this.#tellWaiting, this.#momentMs);
    } else if (this.#news.push(tail) === 1) behindWriters(this.#tellAll);
  }

  readonly #tellWaiting = (): void => {
    this.#news.push(...this.#waiting.splice(0));
    this.#tellAll();
  };

  /** One by one off the list: should one throw, the others are still there. */
  readonly #tellAll = (): void => {
    const tails = this.#news;
    this.#news = [];
    const nowMs = performance.now();
    try {
      for (let tail = tails.shift(); tail; tail = tails.shift()) tail.tellFollowers(nowMs);
    } finally {
      for (const tail of tails) this.#haveNews(tail);
    }
  };
}

/**
 * At the end of the turn, and behind whatever those who have been answered in it ask of the disk: they write in the next tick, and the
 * store begins when the turn ends.
 */
function behindWriters(run: () => void): void {
  process.nextTick(() => process.nextTick(() => setImmediate(run)));
}

/** A position in a thread's log. Pulls; nothing is ever queued for it. */
export class Cursor {
  readonly #log: EventLog;
  readonly #key: ThreadKey;
  readonly #tail: Tail;
  readonly #release: () => void;
  #released = false;
  #callback: (() => void) | undefined;
  position: bigint;

  constructor(log: EventLog, key: ThreadKey, options: { tail: Tail; after: bigint; release: () => void }) {
    this.#log = log;
    this.#key = key;
    this.#tail = options.tail;
    this.#release = options.release;
    this.position = options.after;
  }

  /** True when the tail does not reach back to the position: `read` the log. */
  get behind(): boolean {
    return this.position < this.#tail.start;
  }

  get end(): TailEnd | undefined {
    return this.#tail.end;
  }

  /** What the tail has after the position; undefined when there is nothing new. */
  live(): Span | undefined {
    return this.#tail.after(this.position);
  }

  /** What the log has after the position. */
  read(): Promise<Span | undefined> {
    return this.#log.read(this.#key, this.position, tailLimits.readBytes);
  }

  /** Calls back whenever there is news, until released. One callback a cursor: asking again changes nothing. */
  follow(callback: () => void): void {
    if (this.#callback) return;
    this.#callback = callback;
    this.#tail.follow(callback);
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    if (this.#callback) this.#tail.unfollow(this.#callback);
    this.#release();
  }
}
