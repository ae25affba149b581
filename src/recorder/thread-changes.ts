// Which threads have changed, for those who watch the list of them. A watcher is a set of names, at most one entry a thread: one that is
// slow holds no more than that, and reads the latest of each when it comes to it.

/** A thread that changes all the time is told so often to one watcher at most. */
const restMs = 100;

export class ThreadChanges {
  readonly #watchers = new Set<ChangedThreads>();

  /** Contract: called once what has changed can be read. */
  note(threadId: string): void {
    for (const watcher of this.#watchers) watcher.note(threadId);
  }

  /** Everything that changes from now on. `onNews` is called when there may be something to take. Contract: closed in the end. */
  watch(onNews: () => void): ChangedThreads {
    const watcher: ChangedThreads = new ChangedThreads(onNews, () => this.#watchers.delete(watcher));
    this.#watchers.add(watcher);
    return watcher;
  }

  get watchers(): number {
    return this.#watchers.size;
  }
}

export class ChangedThreads {
  readonly #onNews: () => void;
  readonly #onClose: () => void;
  readonly #changed = new Set<string>();
  /** Threads that were told a moment ago, the oldest first, and whether they have changed since. */
  readonly #resting = new Map<string, { readonly untilMs: number; hasChanged: boolean }>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(onNews: () => void, onClose: () => void) {
    this.#onNews = onNews;
    this.#onClose = onClose;
  }

  /** How many threads it holds: what a slow watcher costs. */
  get size(): number {
    return this.#changed.size + this.#resting.size;
  }

  note(threadId: string): void {
    const resting = this.#resting.get(threadId);
    if (resting) {
      resting.hasChanged = true;
      return;
    }
    this.#changed.add(threadId);
    this.#onNews();
  }

  /** A thread to read and tell, the one that has waited longest first; undefined when there is none now. */
  take(): string | undefined {
    const [threadId] = this.#changed;
    if (threadId === undefined) return undefined;
    this.#changed.delete(threadId);
    // Before it is read: what changes after that is told later.
    this.#resting.set(threadId, { untilMs: performance.now() + restMs, hasChanged: false });
    this.#timer ??= setTimeout(() => this.#wakeRested(), restMs);
    return threadId;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#changed.clear();
    this.#resting.clear();
    this.#onClose();
  }

  #wakeRested(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    let hasNews = false;
    for (const [threadId, { untilMs, hasChanged }] of this.#resting) {
      // The others were told later.
      if (untilMs > nowMs) {
        this.#timer = setTimeout(() => this.#wakeRested(), Math.ceil(untilMs - nowMs));
        break;
      }
      this.#resting.delete(threadId);
      if (hasChanged) this.#changed.add(threadId);
      hasNews ||= hasChanged;
    }
    if (hasNews) this.#onNews();
  }
}
