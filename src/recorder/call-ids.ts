// A tool call's id is used once in a tenant. The log knows the ids that are stored; this knows those that are on their way
// there, so that two threads cannot bring the same one at the same time. (Within a thread, its state knows.)
import type { EventLog, ThreadKey } from "../log/event-log.js";
import type { ToolCallId } from "../thread/ids.js";

export class CallIds {
  readonly #log: EventLog;
  /** Which thread brings an id, and in how many batches. */
  readonly #underWay = new Map<string, { readonly threadId: string; batches: number }>();

  constructor(log: EventLog) {
    this.#log = log;
  }

  /** Takes the ids for a batch of the thread. Returns the first that is stored, or that another thread brings. */
  async reserve(key: ThreadKey, ids: readonly ToolCallId[]): Promise<ToolCallId | undefined> {
    const others = ids.map((id) => this.#take(key, id));
    for (const [index, id] of ids.entries()) {
      if (others[index] !== key.threadId || (await this.#log.readCall(key.tenant, id))) return id;
    }
    return undefined;
  }

  /** The thread that brings the id. */
  #take({ tenant, threadId }: ThreadKey, id: ToolCallId): string {
    const name = `${tenant}/${id}`;
    const entry = this.#underWay.get(name) ?? { threadId, batches: 0 };
    this.#underWay.set(name, entry);
    entry.batches++;
    return entry.threadId;
  }

  /** Contract: once for every `reserve`, also for one that failed, and for a batch that was refused. */
  release({ tenant }: ThreadKey, ids: readonly ToolCallId[]): void {
    for (const id of ids) {
      const name = `${tenant}/${id}`;
      const entry = this.#underWay.get(name);
      if (entry && --entry.batches <= 0) this.#underWay.delete(name);
    }
  }
}
