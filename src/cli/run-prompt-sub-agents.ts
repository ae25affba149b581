// The sub-agents of a run that is watched. Their threads are followed for the questions that they ask, and for nothing else: what
// they do, the call that delegates says.
import { setTimeout as pause } from "node:timers/promises";
import type { StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import type { RunClient } from "./run-prompt-client.js";

export interface SubAgentsOptions {
  readonly client: Pick<RunClient, "events">;
  /** Called with every event of a sub-agent's run, each thread's in order. */
  readonly onEvent: (event: StreamThreadEventsResponse) => void;
}

/** When the run is over, so are those below it: their last events are waited for so long. */
const longestFarewellMs = 2_000;
/** A server that comes back is noticed soon. */
const backoff = { maxDelayMs: 3_000 };

export class SubAgents {
  readonly #options: SubAgentsOptions;
  readonly #leaving = new AbortController();
  /** The threads of calls that delegate. */
  readonly #threads = new Map<string, string>();
  readonly #followed = new Map<string, Promise<void>>();

  constructor(options: SubAgentsOptions) {
    this.#options = options;
  }

  /** Contract: called with every event of the run in order. A thread is made after its call has started: its first news tell so. */
  see({ payload }: StreamThreadEventsResponse): void {
    switch (payload.case) {
      case "toolCallCreated":
        if (payload.value.childThreadId !== "")
          this.#threads.set(payload.value.toolCallId, payload.value.childThreadId);
        break;
      case "toolCallProgress":
      case "toolCallComplete":
        this.#followThreadOf(payload.value.toolCallId);
        break;
    }
  }

  /** Resolves when everything that they recorded was seen, or it takes too long. */
  async settled(): Promise<void> {
    const late = new AbortController();
    const tooLate = pause(longestFarewellMs, undefined, { signal: late.signal }).catch(() => {});
    await Promise.race([Promise.all(this.#followed.values()), tooLate]);
    late.abort();
  }

  close(): void {
    this.#leaving.abort();
  }

  #followThreadOf(toolCallId: string): void {
    const threadId = this.#threads.get(toolCallId);
    if (threadId === undefined || this.#followed.has(threadId)) return;
    // One that is not there yet is tried again with the next news; one whose call never started, in vain.
    const following = this.#follow(threadId).catch(() => void this.#followed.delete(threadId));
    this.#followed.set(threadId, following);
  }

  /** What others do with the thread later is no business of the run. */
  async #follow(threadId: string): Promise<void> {
    const { client, onEvent } = this.#options;
    const { signal } = this.#leaving;
    for await (const event of client.events({ threadId, afterSequence: 0n, follow: true, signal, backoff })) {
      onEvent(event);
      this.see(event);
      if (event.payload.case === "runCompleted") return;
    }
  }
}
