// What the suites about background processes share: processes of their own that are gone after each test, whatever happened.
import { randomUUID } from "node:crypto";
import { afterEach } from "vitest";
import { Processes, type ProcessesOptions } from "../../../src/tool/process/processes.js";
import { processesWith } from "../../support/left-behind.js";
import { CallContext, prepared, workplace } from "../command/support.js";
import { KeptJournal } from "../sample-processes.js";

export interface ThreadOptions {
  readonly workspace?: string;
  readonly signal?: AbortSignal;
  readonly threadId?: string;
}

/** A call of a thread of its own, or of one that is named. */
export class ThreadContext extends CallContext {
  override readonly threadId: string;

  constructor({ threadId = randomUUID(), ...options }: ThreadOptions = {}) {
    super(options);
    this.threadId = threadId;
  }
}

type Options = Partial<Omit<ProcessesOptions, "commands">> & { readonly sandbox: "none" | "bubblewrap" };

/** Everything has ended by the end of the test, or the test is red. */
export function useProcesses() {
  const undo: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const each of undo.splice(0)) await each();
  });
  return async ({ sandbox, ...options }: Options) => {
    const place = await workplace();
    const journal = new KeptJournal();
    const processes = new Processes({ commands: prepared({ sandbox }), journal, ...options });
    undo.push(async () => {
      await processes.close();
      await place[Symbol.asyncDispose]();
    });
    const context = (more: ThreadOptions = {}) => new ThreadContext({ workspace: place.path, ...more });
    return { processes, journal, place: place.path, context };
  };
}

let last = 0;

/** Seconds that no other process sleeps: a mark in its command line. Long for a test, and yet it ends by itself. */
export const nap = (): string => `3${process.pid % 1000}.${String(Date.now()).slice(-6)}${++last}`;

export const running = (mark: string): number => processesWith(mark).length;
