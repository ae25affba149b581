// A thread that delegates, and the threads below it, struck while their runs go: calls and runs of any of them are called off, the
// server stops, dies, and loses writes. What happened is read from the log itself, which outlives every server.
import fc from "fast-check";
import type { EventLog } from "../../src/log/event-log.js";
import { followLog } from "../../src/loop/follow-log.js";
import { keyOf } from "../../src/request-fields.js";
import { isError } from "../../src/thread/errors.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { newId } from "../../src/thread/ids.js";
import { ApprovalDecision, type RunOptions } from "../../src/thread/schema.js";
import type { MortalCore } from "./mortal-core.js";
import type { Answerer, Blow } from "./random-life.js";
import { type ReplyPlan, reply } from "./random-model.js";
import { take } from "./random-text.js";

/** A reply all of whose calls delegate, as the model happened to write it. */
const delegating: fc.Arbitrary<ReplyPlan> = reply.map((plan) => ({
  ...plan,
  calls: plan.calls.map((call) => ({
    ...call,
    name: "delegate_task",
    nameWhen: "first" as const,
    input: JSON.stringify({ task: "part of it", prompt: "Go on" }),
  })),
  end: { kind: "end", reason: "tool_calls", providerReason: "tool_calls" },
}));

const familyReply: fc.Arbitrary<ReplyPlan> = fc.oneof(
  { weight: 1, arbitrary: delegating },
  { weight: 2, arbitrary: reply },
);

/** Whoever is asked next gets the next one: the first delegates, and often the second. */
export const familyReplies: fc.Arbitrary<readonly ReplyPlan[]> = fc
  .tuple(
    delegating.filter(({ calls }) => calls.length > 0),
    fc.oneof(delegating, familyReply),
    fc.array(familyReply, { maxLength: 12 }),
  )
  .map(([first, second, rest]) => [first, second, ...rest]);

interface OpenRun {
  readonly threadId: string;
  readonly runId: string;
}

/** A run that is not over by then never ends. */
const patienceMs = 10_000;

export class RandomFamily {
  readonly #log: EventLog;
  readonly #server: MortalCore;
  readonly #blows: Blow[];
  readonly #answerers: readonly Answerer[];
  readonly #runs: OpenRun[] = [];
  readonly #calls: string[] = [];
  /** Ends of runs and calls, by their ids. */
  readonly #over = new Set<string>();
  /** Requests that have not come to a server yet, and those that a server works on. */
  readonly #waiting = new Set<Promise<void>>();
  readonly #underWay = new Set<Promise<void>>();
  /** One restart at a time. */
  #restarts: Promise<void> = Promise.resolve();
  #seen = 0;
  #asked = 0;
  #fault: unknown;

  constructor(server: MortalCore, log: EventLog, plan: { blows: readonly Blow[]; answerers: readonly Answerer[] }) {
    this.#server = server;
    this.#log = log;
    this.#blows = plan.blows.toSorted((a, b) => a.after - b.after);
    this.#answerers = plan.answerers;
  }

  /** Sends a message to a new thread, and strikes until its run is over. */
  async live(options: RunOptions): Promise<string> {
    const { id } = await this.#server.core.threads.create({ threadId: "", title: "", labels: {} });
    await this.#server.core.threads.send(id, { requestId: newId(), text: "Go on", options });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("The run never ends")), patienceMs);
    });
    await Promise.race([this.#watch(id), late]);
    clearTimeout(timer);
    while (this.#waiting.size > 0) await Promise.all(this.#waiting);
    await this.#restarts;
    await Promise.all(this.#underWay);
    if (this.#fault !== undefined) throw this.#fault;
    return id;
  }

  /** Until the thread's run is over. A thread that is never made is waited for in vain. */
  async #watch(threadId: string): Promise<void> {
    for await (const events of followLog(this.#log, keyOf(threadId)))
      for (const event of events) {
        this.#see(event);
        if (event.payload.case === "runCompleted") return;
      }
  }

  #see({ threadId, runId, payload }: ThreadEvent): void {
    this.#seen++;
    switch (payload.case) {
      case "runStarted":
        this.#runs.push({ threadId, runId });
        break;
      case "runCompleted":
        this.#over.add(runId);
        break;
      case "toolCallCreated":
        this.#calls.push(payload.value.toolCallId);
        if (payload.value.childThreadId !== "") void this.#watch(payload.value.childThreadId);
        break;
      case "toolCallComplete":
        this.#over.add(payload.value.toolCallId);
        break;
      case "toolCallApprovalRequested":
        this.#do(() => this.#answer(payload.value));
        break;
    }
    while (this.#blows[0] && this.#blows[0].after <= this.#seen) this.#strike(this.#blows.shift()!);
  }

  /** Nobody asks anything of a server that is about to go. */
  #do(work: () => Promise<void>): void {
    const begin = async (): Promise<void> => {
      for (let seen: unknown; seen !== this.#restarts; await seen) seen = this.#restarts;
      this.#waiting.delete(waiting);
      const answered = work().catch((error) => {
        this.#fault ??= error;
      });
      this.#underWay.add(answered);
      void answered.then(() => this.#underWay.delete(answered));
    };
    const waiting = begin();
    this.#waiting.add(waiting);
  }

  #strike(blow: Blow): void {
    switch (blow.kind) {
      case "cancel run":
      case "cancel call":
        this.#do(() => this.#cancel(blow));
        break;
      case "lose a write":
        this.#server.loseNextWrite();
        break;
      default:
        this.#restarts = this.#restarts.then(() => this.#restart(blow));
    }
  }

  async #restart({ kind, pause }: Blow): Promise<void> {
    await take(pause);
    if (kind === "stop") {
      await Promise.all(this.#underWay);
      await this.#server.restart();
    }
    if (kind === "before the write" || kind === "after the write") await this.#server.dieAndRestart(kind);
    // Nobody hears the answers of a server that is dead.
    this.#underWay.clear();
  }

  async #answer({ toolCallId, approvalSha256: sha256 }: { toolCallId: string; approvalSha256: Uint8Array }) {
    const { pause, says } = this.#answerers[this.#asked++ % this.#answerers.length]!;
    await take(pause);
    if (says === "nothing") return;
    const decision = says === "yes" ? ApprovalDecision.ALLOWED : ApprovalDecision.DENIED;
    const answer = { decision, reason: says, resolvedBy: "somebody", sha256 } as const;
    await unless(["tool_call_over", "approval_not_pending", "storage_full"], () =>
      this.#server.core.toolCalls.answer(toolCallId, answer),
    );
  }

  /** Refused only when it is over; which the log says before anybody does. */
  async #cancel({ kind, pause, call }: Blow): Promise<void> {
    const run = this.#runs.at(-1 - (call % (this.#runs.length || 1)));
    const toolCallId = this.#calls.at(-1 - (call % (this.#calls.length || 1)));
    await take(pause);
    const { threads, toolCalls } = this.#server.core;
    if (kind === "cancel run" && run)
      await unless(["run_not_found", "storage_full"], () => threads.cancelRun(run.threadId, run.runId));
    if (kind === "cancel call" && toolCallId !== undefined)
      await unless(["tool_call_over", "storage_full"], () => toolCalls.cancel(toolCallId, "enough"));
  }
}

async function unless(codes: readonly Parameters<typeof isError>[1][], work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!codes.some((code) => isError(error, code))) throw error;
  }
}
