// As a property: whatever is created, written and deleted, and however watchers come, stall and go, each that stays knows in the end
// what the list says.
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Core, openCore, openProducer } from "../support/core.js";
import { RunScript } from "../support/scenario.js";
import { ListWatcher } from "./list-watcher.js";

type Step =
  | { kind: "create" }
  | { kind: "write" | "delete"; thread: number }
  | { kind: "watch"; busyOnly: boolean }
  | { kind: "stall" | "go" | "leave"; watcher: number }
  | { kind: "breathe" };

const index = fc.nat(9);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ kind: "create" as const }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("write" as const), thread: index }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete" as const), thread: index }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("watch" as const), busyOnly: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("stall", "go", "leave"), watcher: index }) },
  { weight: 2, arbitrary: fc.constant({ kind: "breathe" as const }) },
);

class Trial {
  readonly #core: Core;
  readonly #threads: { id: string; write(): Promise<unknown>; close(): Promise<unknown> }[] = [];
  readonly #watchers: { watcher: ListWatcher; go(): void }[] = [];

  constructor(core: Core) {
    this.#core = core;
  }

  /** Not awaited one by one: what is under way overlaps. */
  async play(steps: readonly Step[]): Promise<void> {
    const under: Promise<unknown>[] = [];
    for (const each of steps) under.push(...(await this.#step(each)));
    await Promise.all(under);
  }

  async agree(): Promise<void> {
    const { threads } = await this.#core.threads.list({ pageSize: 500, after: "" });
    const heads = new Map(threads.map(({ id, headSequence }) => [id, headSequence]));
    for (const { watcher, go } of this.#watchers) {
      go();
      const isRight = (): boolean => [...heads].every(([id, head]) => watcher.known.get(id)?.headSequence === head);
      await watcher.until(() => isRight() && watcher.known.size === heads.size);
      await watcher.leave();
    }
    expect(this.#core.recorder.changes.watchers).toBe(0);
    expect(this.#core.feeds.lasting.size).toBe(0);
  }

  async #step(each: Step): Promise<Promise<unknown>[]> {
    switch (each.kind) {
      case "create":
        await this.#create();
        return [];
      case "write":
        return this.#at(this.#threads, each.thread, (thread) => [thread.write()]);
      case "delete":
        return this.#at(this.#threads, each.thread, (thread) => {
          this.#threads.splice(this.#threads.indexOf(thread), 1);
          return [thread.close().then(() => this.#core.threads.delete(thread.id))];
        });
      case "watch":
        // All threads here have an open run until they are deleted.
        this.#watchers.push({ watcher: new ListWatcher(this.#core, each), go: () => {} });
        return [];
      case "stall":
        return this.#at(this.#watchers, each.watcher, (held) => {
          held.go();
          held.watcher.pace = new Promise((resolve) => {
            held.go = resolve;
          });
          return [];
        });
      case "go":
        return this.#at(this.#watchers, each.watcher, ({ go }) => {
          go();
          return [];
        });
      case "leave":
        return this.#at(this.#watchers, each.watcher, (held) => {
          this.#watchers.splice(this.#watchers.indexOf(held), 1);
          held.go();
          return [held.watcher.leave()];
        });
      case "breathe":
        await new Promise((resolve) => setImmediate(resolve));
        return [];
    }
  }

  async #create(): Promise<void> {
    const producer = await openProducer(this.#core);
    const run = new RunScript();
    await producer.record([run.started()]);
    let before: Promise<unknown> = Promise.resolve();
    const write = (): Promise<unknown> => {
      before = before.then(() => producer.record(run.message("more")));
      return before;
    };
    const close = (): Promise<unknown> => before.then(() => producer.close());
    this.#threads.push({ id: producer.threadId, write, close });
  }

  #at<Item>(items: readonly Item[], at: number, use: (item: Item) => Promise<unknown>[]): Promise<unknown>[] {
    const item = items[at % Math.max(1, items.length)];
    return item ? use(item) : [];
  }
}

test("whoever watches knows in the end what the list says", { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const core = openCore();
      try {
        const trial = new Trial(core);
        await trial.play(steps);
        await trial.agree();
      } finally {
        core.feeds.close();
        core.recordings.dispose();
      }
    }),
    { numRuns: 60 },
  );
});
