// Where a scenario plays: on a clock of its own, upon one log, with servers that can be killed. Nothing on it waits for anything
// but the clock, so the clock moves only when nothing else is left to do: the same scenario always gives the same log.
//
// Contract: whoever uses it mocks node:timers/promises with virtual-sleep.ts.
import { vi } from "vitest";
import type { EventLog } from "../../src/log/event-log.js";
import { openMemoryLog } from "../../src/log/memory.js";
import { pause } from "../../src/model/pause.js";
import type { LeaseClock } from "../../src/recorder/lease-clocks.js";
import type { TestModel } from "../support/agent.js";
import { type Core, type CoreOptions, openCore } from "../support/core.js";

export interface Stage {
  /** A server upon the stage's log. */
  open(options: CoreOptions & { model: TestModel }): Core;
  /** The servers are gone, as after `kill -9`: nothing that they still do reaches the log or the clock. */
  kill(): void;
  readonly log: EventLog;
  /** Those that its servers asked. */
  readonly models: readonly TestModel[];
  /** What went wrong inside its servers. */
  readonly errors: readonly unknown[];
}

/** The time at which every scenario begins. */
const beginning = Date.parse("2026-01-01T09:00:00Z");
/** A scenario that takes longer waits for something that never comes. */
const longestMs = 3_600_000;

export async function onStage<Result>(play: (stage: Stage) => Promise<Result>): Promise<Result> {
  vi.useFakeTimers({ now: beginning, toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] });
  // Half of it is neither more nor less: backoffs are as long as they say.
  const random = vi.spyOn(Math, "random").mockReturnValue(0.5);
  const stage = new MemoryStage();
  try {
    return await whileTimePasses(play(stage));
  } finally {
    stage.close();
    random.mockRestore();
    vi.useRealTimers();
  }
}

/** Lets time pass on the stage. */
export const passes = (ms: number, signal: AbortSignal = new AbortController().signal): Promise<void> =>
  pause(ms, signal);

async function whileTimePasses<Result>(playing: Promise<Result>): Promise<Result> {
  let isOver = false;
  const over = playing.finally(() => {
    isOver = true;
  });
  over.catch(() => {}); // Heard by whoever awaits it.
  for (;;) {
    // Turns of the real event loop, for what waits for one: everything that can happen now has happened.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    if (isOver) return over;
    if (vi.getTimerCount() === 0 || Date.now() > beginning + longestMs)
      throw new Error("The scenario waits for something that never comes");
    vi.advanceTimersToNextTimer();
  }
}

/** The stage's own time. */
const clock: LeaseClock = {
  now: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

class MemoryStage implements Stage {
  readonly log = openMemoryLog();
  readonly models: TestModel[] = [];
  readonly #cores: { readonly core: Core; readonly kill: () => void }[] = [];

  open(options: CoreOptions & { model: TestModel }): Core {
    const { log, kill } = mortal(this.log);
    // Whoever follows sees everything at its own time.
    const core = openCore({ policy: { trusted: true }, clock, momentMs: 0, ...options, log });
    this.#cores.push({ core, kill });
    this.models.push(options.model);
    return core;
  }

  get errors(): readonly unknown[] {
    return this.#cores.flatMap(({ core }) => core.errors);
  }

  kill(): void {
    for (const { kill } of this.#cores) kill();
    const now = Date.now();
    vi.clearAllTimers(); // It also sets the clock back.
    vi.setSystemTime(now);
  }

  close(): void {
    for (const { core } of this.#cores) {
      core.feeds.close();
      core.recordings.dispose();
    }
  }
}

/** The log as one process has it. Once that is dead, no answer ever comes. */
function mortal(log: EventLog): { log: EventLog; kill: () => void } {
  let isDead = false;
  const never = new Promise<never>(() => {});
  return {
    log: new Proxy(log, {
      get: (target, name: keyof EventLog) => (isDead ? () => never : (target[name] as () => unknown).bind(target)),
    }),
    kill: () => {
      isDead = true;
    },
  };
}
