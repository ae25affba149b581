// A thread that is struck while its runs go: calls and runs are called off, the server stops, dies, and loses writes, each after
// so many events of the thread.
import fc from "fast-check";
import { isError } from "../../src/thread/errors.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { newId } from "../../src/thread/ids.js";
import { ApprovalDecision, type ClientTool, Executor, type RunOptions } from "../../src/thread/schema.js";
import { storedEvents } from "../support/core.js";
import type { Death, MortalCore } from "./mortal-core.js";
import { type ClientPlan, RandomClient } from "./random-clients.js";
import { type Pause, pause, take } from "./random-text.js";

export interface Blow {
  /** After how many events of the thread. */
  readonly after: number;
  readonly pause: Pause;
  readonly kind: "cancel run" | "cancel call" | "stop" | "lose a write" | Death;
  /** Which call, counted from the latest. */
  readonly call: number;
}

export const blow: fc.Arbitrary<Blow> = fc.record({
  after: fc.integer({ min: 1, max: 40 }),
  pause,
  kind: fc.oneof(
    { weight: 4, arbitrary: fc.constant("cancel call" as const) },
    { weight: 1, arbitrary: fc.constantFrom("cancel run" as const, "stop" as const) },
    { weight: 1, arbitrary: fc.constantFrom("before the write" as const, "after the write" as const) },
    { weight: 1, arbitrary: fc.constant("lose a write" as const) },
  ),
  call: fc.nat(3),
});

/** What a person says to a question, and when. */
export interface Answerer {
  readonly pause: Pause;
  readonly says: "yes" | "no" | "nothing";
}

export const answerer: fc.Arbitrary<Answerer> = fc.record({
  pause,
  says: fc.constantFrom("yes", "yes", "no", "nothing"),
});

/** Whoever is there beside the server. Contract: of each at least one. */
export interface Others {
  readonly answerers: readonly Answerer[];
  readonly clients: readonly ClientPlan[];
}

/** A run that is not over by then never ends. */
const patienceMs = 10_000;

export class RandomLife {
  readonly #server: MortalCore;
  readonly #blows: Blow[];
  readonly #calls: string[] = [];
  #cancels: Promise<void>[] = [];
  #threadId = "";
  #runId = "";
  #seen = 0n;
  readonly #others: Others;
  #asked = 0;
  #handedOver = 0;

  constructor(server: MortalCore, blows: readonly Blow[], others: Others) {
    this.#server = server;
    this.#blows = blows.toSorted((a, b) => a.after - b.after);
    this.#others = others;
  }

  /** Makes the thread. */
  async begin(clientTools: readonly ClientTool[] = []): Promise<string> {
    const { id } = await this.#server.core.threads.create({ threadId: "", title: "", labels: {}, clientTools });
    this.#threadId = id;
    return id;
  }

  /** Sends a message, and strikes when it is time until its run is over: upon whichever server is there then. */
  async live(options: RunOptions): Promise<void> {
    this.#runId = await this.#send(options);
    const deadline = AbortSignal.timeout(patienceMs);
    while (!(await this.#follow(deadline))) deadline.throwIfAborted();
    await Promise.all(this.#cancels);
  }

  async #send(options: RunOptions): Promise<string> {
    const request = { requestId: newId(), text: "Go on", options };
    const sendOnce = () => this.#server.core.threads.send(this.#threadId, request);
    try {
      return await sendOnce();
    } catch (error) {
      if (isError(error, "storage_full")) return sendOnce();
      throw error;
    }
  }

  /** True when the run is over; false when the server has gone. */
  async #follow(deadline: AbortSignal): Promise<boolean> {
    const position = { threadId: this.#threadId, afterSequence: this.#seen, follow: true };
    for await (const event of this.#server.core.threads.follow(position, deadline)) {
      if (event.sequence === 0n) continue;
      this.#seen = event.sequence;
      if (event.payload.case === "toolCallCreated") this.#calls.push(event.payload.value.toolCallId);
      if (event.payload.case === "toolCallApprovalRequested") this.#cancels.push(this.#answer(event.payload.value));
      if (event.payload.case === "toolCallStarted" && event.payload.value.executor === Executor.CLIENT)
        this.#cancels.push(this.#runAtClients(event.payload.value.toolCallId));
      const isOver = event.payload.case === "runCompleted";
      const isDue = this.#blows[0] && BigInt(this.#blows[0].after) <= this.#seen;
      const hasGone = isDue && (await this.#strike(this.#blows.shift()!));
      if (isOver || hasGone) return isOver;
    }
    return false;
  }

  /** True when the server has gone, and another one is there. */
  async #strike(blow: Blow): Promise<boolean> {
    switch (blow.kind) {
      case "cancel run":
      case "cancel call":
        this.#cancels.push(this.#cancel(blow));
        return false;
      case "lose a write":
        this.#server.loseNextWrite();
        return false;
      case "stop":
        await take(blow.pause);
        await Promise.all(this.#cancels);
        await this.#server.restart();
        return true;
      case "before the write":
      case "after the write":
        await take(blow.pause);
        // Nobody hears the answers of a server that is dead.
        this.#cancels = [];
        await this.#server.dieAndRestart(blow.kind);
        return true;
    }
  }

  /** Two clients go for each call. */
  async #runAtClients(toolCallId: string): Promise<void> {
    const { clients } = this.#others;
    const going = [this.#handedOver++, this.#handedOver++].map((index) => {
      const client = new RandomClient(() => this.#server.core, clients[index % clients.length]!, `client ${index}`);
      return client.run(this.#threadId, toolCallId);
    });
    await Promise.all(going);
  }

  /** Two people answer each question: at most one of them is heard. */
  async #answer({ toolCallId, approvalSha256: sha256 }: { toolCallId: string; approvalSha256: Uint8Array }) {
    const { core } = this.#server;
    const answers = [this.#asked++, this.#asked++].map(async (index): Promise<number> => {
      const { pause, says } = this.#others.answerers[index % this.#others.answerers.length]!;
      await take(pause);
      if (says === "nothing") return 0;
      const decision = says === "yes" ? ApprovalDecision.ALLOWED : ApprovalDecision.DENIED;
      try {
        await core.toolCalls.answer(toolCallId, { decision, reason: says, resolvedBy: "somebody", sha256 });
        return 1;
      } catch (error) {
        const isTyped = ["tool_call_over", "approval_not_pending", "storage_full"] as const;
        if (!isTyped.some((code) => isError(error, code))) throw error;
        return 0;
      }
    });
    const heard = (await Promise.all(answers)).reduce((sum, count) => sum + count, 0);
    if (heard > 1) throw new Error("Two answers were taken to one question");
  }

  /** Refused only with a typed error, and only when it is true. */
  async #cancel({ kind, pause, call }: Blow): Promise<void> {
    const { core } = this.#server;
    const runId = this.#runId;
    const toolCallId = this.#calls.at(-1 - (call % (this.#calls.length || 1)));
    await take(pause);
    const isEnd = ({ payload, ...event }: ThreadEvent): boolean =>
      kind === "cancel run"
        ? payload.case === "runCompleted" && event.runId === runId
        : payload.case === "toolCallComplete" && payload.value.toolCallId === toolCallId;
    try {
      if (kind === "cancel run") await core.threads.cancelRun(this.#threadId, runId);
      else if (toolCallId !== undefined) await core.toolCalls.cancel(toolCallId, "enough");
    } catch (error) {
      // Of a run that is suspended it is a write.
      if (isError(error, "storage_full")) return;
      const code = kind === "cancel run" ? "run_not_found" : "tool_call_over";
      if (!isError(error, code) || !(await storedEvents(core, this.#threadId)).some(isEnd)) throw error;
    }
  }
}
