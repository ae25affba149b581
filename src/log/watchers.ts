// Who watches threads grow. Telling costs nothing where nobody watches.
import type { EventLog, LogWatcher, Span, ThreadKey } from "./event-log.js";

interface Watching {
  readonly watcher: LogWatcher;
  /** It knows of everything up to here. */
  readonly after: bigint;
}

export class Watchers {
  readonly #threads = new Map<string, Set<Watching>>();

  /**
   * Returns what ends it. Contract: the caller has looked at the head in the same turn, so that no append falls between the look and this
   * (L5).
   */
  add(thread: string, after: bigint, watcher: LogWatcher): () => void {
    const watching = { watcher, after };
    const all = this.#threads.get(thread) ?? new Set();
    all.add(watching);
    this.#threads.set(thread, all);
    return () => {
      if (all.delete(watching) && all.size === 0 && this.#threads.get(thread) === all) this.#threads.delete(thread);
    };
  }

  has(thread: string): boolean {
    return this.#threads.has(thread);
  }

  appended(thread: string, head: bigint, span: Span | undefined): void {
    for (const { watcher, after } of this.#threads.get(thread) ?? []) if (head > after) watcher.appended(head, span);
  }

  removed(thread: string): void {
    const all = this.#threads.get(thread) ?? [];
    this.#threads.delete(thread);
    for (const { watcher } of all) watcher.removed();
  }

  closed(error: unknown): void {
    const threads = [...this.#threads.values()];
    this.#threads.clear();
    for (const all of threads) for (const { watcher } of all) watcher.failed(error);
  }
}

/** `watch` of a store that only knows how to wait. */
export function watchByWaiting(
  log: Pick<EventLog, "waitBeyond" | "readThread">,
  key: ThreadKey,
  { after, watcher }: { after: bigint; watcher: LogWatcher },
): () => void {
  const stop = new AbortController();
  const watch = async (): Promise<void> => {
    for (let position = after; !stop.signal.aborted; ) {
      const news = await log.waitBeyond(key, position, stop.signal);
      if (news === "removed") return watcher.removed();
      const thread = await log.readThread(key);
      if (stop.signal.aborted) return;
      if (!thread || thread.removed) return watcher.removed();
      position = thread.head;
      watcher.appended(position, undefined);
    }
  };
  watch().catch((error: unknown) => {
    if (!stop.signal.aborted) watcher.failed(error);
  });
  return () => stop.abort();
}
