// A process next to the user that runs calls for agents: it offers its tools, watches the list of threads, and claims what waits for it.
// A call is claimed once and run once, by this process or by none.
import { ConnectError } from "@connectrpc/connect";
import type { Thread } from "../../gen/heddle/v1/thread_service_pb.js";
import { type KeepState, keepOpen } from "../client/index.js";
import { type PolicySettings, policyOf } from "../tool/policy.js";
import type { ToolRegistry } from "../tool/registry.js";
import type { ToolDefinition } from "../tool/tool.js";
import { CallQueue } from "./call-queue.js";
import type { ShownCall } from "./executor-events.js";
import { type Found, findWaiting, refuseCall, resolveApproval } from "./find-calls.js";
import { offeredTools } from "./offered.js";
import { type Asker, type CallToAsk, Questions, shownCall } from "./questions.js";
import type { ReportLine } from "./report-line.js";
import { type CallParts, runCall } from "./run-call.js";

export interface ExecutorParts extends CallParts {
  readonly tools: ToolRegistry;
  readonly policy: PolicySettings;
  /** The thread to serve. Undefined: all of them. */
  readonly threadId: string | undefined;
  /** Calls that run at the same time. */
  readonly concurrency: number;
  readonly asker: Asker;
  /** Under which name answers are recorded. */
  readonly answerer: string;
  /** The server must have answered before it may stay away. */
  readonly isPatient: boolean;
}

/** What the last words to a server may take when the executor stops. */
const farewellMs = 5_000;
/** A server that comes back is noticed soon. */
const backoff = {
  maxDelayMs: 3_000,
  maxAttempts: Number.POSITIVE_INFINITY,
  maxFirstAttempts: Number.POSITIVE_INFINITY,
};
/** Answers that are remembered until their calls have come or gone. */
const mostAnswers = 1000;

export class Executor {
  readonly #parts: ExecutorParts;
  readonly #queue: CallQueue;
  readonly #questions: Questions;
  readonly #lines = new Map<ReportLine, string>();
  /** Threads that hold more than was looked at. */
  readonly #unseen = new Set<string>();
  /** What was shown here for a yes, by call. */
  readonly #approved = new Map<string, string>();
  readonly #refused = new Set<string>();
  /** Aborted when nothing more is said to the server. */
  readonly #givingUp = new AbortController();
  #leaving: AbortSignal = this.#givingUp.signal;

  constructor(parts: ExecutorParts) {
    this.#parts = parts;
    const { server, asker, settings, on } = parts;
    this.#questions = new Questions({ server, asker, workspace: settings.workspace, on });
    this.#queue = new CallQueue({
      concurrency: parts.concurrency,
      onProblem: (error) => this.#problem(error),
      onEmpty: () => void this.#lookAtUnseen(),
    });
  }

  /** Serves until the signal is aborted; then everything under way is stopped and ended. Rejects with what the server refuses. */
  async run(signal: AbortSignal): Promise<void> {
    const leaving = new AbortController();
    const leave = () => leaving.abort(signal.reason);
    if (signal.aborted) return;
    signal.addEventListener("abort", leave, { once: true });
    this.#leaving = leaving.signal;
    const serving = [this.#offer(leaving.signal), this.#watch(leaving.signal)];
    try {
      await Promise.race(serving);
    } catch (reason) {
      leaving.abort(reason);
      await Promise.all([...serving.map((each) => each.catch(() => {})), this.#stop()]);
      if (!signal.aborted) throw reason;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  async #offer(signal: AbortSignal): Promise<void> {
    const { server, tools, policy, executorName, threadId = "", on } = this.#parts;
    const request = { threadId, executorName, tools: offeredTools(tools, policy) };
    const open = (options: Parameters<ReturnType<typeof server.tools>["offerTools"]>[1]) =>
      server.tools().offerTools(request, options ?? {});
    for await (const { payload } of keepOpen(open, { signal, ...this.#keeping() }))
      if (payload.case === "ready") on({ kind: "offered" });
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { server } = this.#parts;
    const open = (options: Parameters<ReturnType<typeof server.threads>["watchThreads"]>[1]) =>
      server.threads().watchThreads({ busyOnly: true }, options ?? {});
    // One after the other: meanwhile the server keeps the latest of each.
    for await (const { payload } of keepOpen(open, { signal, backoff: { ...backoff, ...server.backoff } }))
      if (payload.case === "thread") await this.#look(payload.value);
  }

  /** Only one of the two streams speaks of the connection. */
  #keeping() {
    const { on, isPatient, server } = this.#parts;
    const onState = (state: KeepState): void => {
      if (state.state === "waiting") on({ kind: "away", reason: state.reason });
    };
    return { backoff: { ...backoff, ...(!isPatient && { maxFirstAttempts: 1 }), ...server.backoff }, onState };
  }

  async #look(thread: Thread): Promise<void> {
    const { id, offeredToolCalls, awaitingApprovals } = thread;
    const { threadId } = this.#parts;
    if (threadId !== undefined && id !== threadId) return;
    // Any of them may be over: those that are hear it now.
    for (const [line, of] of this.#lines) if (of === id) line.look();
    try {
      if (offeredToolCalls > 0 || this.#questions.hasOpen(id, "here")) await this.#lookAtOffered(id, offeredToolCalls);
      if (awaitingApprovals > 0 || this.#questions.hasOpen(id, "server")) await this.#lookAtAsked(id);
    } catch (error) {
      this.#problem(error);
    }
  }

  /** What waits here already is not asked for again: there is another look when it is done. */
  async #lookAtOffered(threadId: string, offered: number): Promise<void> {
    this.#unseen.delete(threadId);
    const waiting = this.#queue.waitingIn(threadId);
    if (this.#queue.isFull || (waiting > 0 && waiting >= offered)) return void this.#unseen.add(threadId);
    const { server, tools } = this.#parts;
    const found = await findWaiting(server, "listOfferedToolCalls", { threadId, tools, signal: this.#leaving });
    const toAsk: CallToAsk[] = [];
    for (const { call, tool } of found) {
      if (this.#queue.has(call.id) || this.#refused.has(call.id)) continue;
      if (this.#queue.isFull) return void this.#unseen.add(threadId);
      const permission = this.#permission({ call, tool });
      if (permission === "deny")
        await this.#refuse(shownCall(call), `The policy of this executor does not allow ${tool.name}`);
      else if (permission === "allow") this.#enqueue(shownCall(call), tool);
      else
        toAsk.push({
          call,
          tool,
          why: "The policy of this executor asks first",
          settle: this.#settleHere(shownCall(call), tool),
        });
    }
    this.#questions.see(threadId, "here", toAsk);
  }

  /** Where a person has said yes to the server, nobody is asked again. */
  #permission({ call, tool }: Found): "allow" | "ask" | "deny" {
    const own = policyOf(tool, this.#parts.policy);
    return own === "ask" && (call.approval?.allowed === true || this.#parts.asker.kind === "yes") ? "allow" : own;
  }

  async #lookAtAsked(threadId: string): Promise<void> {
    const { server, tools } = this.#parts;
    const found = await findWaiting(server, "listApprovals", { threadId, tools, signal: this.#leaving });
    const ofClients = found.filter(({ call }) => call.source?.source.case === "client");
    const toAsk = ofClients.map(({ call, tool }): CallToAsk => {
      const { reason: why = "", approvalSha256 = new Uint8Array() } = call.approval ?? {};
      const settle: CallToAsk["settle"] = async (answer, shown, signal) => {
        if (answer.isAllowed) this.#approve(call.id, shown);
        await resolveApproval(server, { call, answer, approvalSha256, answerer: this.#parts.answerer }, signal);
      };
      return { call, tool, why, settle };
    });
    this.#questions.see(threadId, "server", toAsk);
  }

  #settleHere(call: ShownCall, tool: ToolDefinition): CallToAsk["settle"] {
    return async ({ isAllowed, reason }, shown) => {
      if (!isAllowed) return this.#refuse(call, reason || "denied at the executor");
      this.#approve(call.toolCallId, shown);
      this.#enqueue(call, tool);
    };
  }

  #approve(toolCallId: string, shown: string): void {
    forgetOldest(this.#approved);
    this.#approved.set(toolCallId, shown);
  }

  async #refuse(call: ShownCall, reason: string): Promise<void> {
    forgetOldest(this.#refused);
    this.#refused.add(call.toolCallId);
    this.#parts.on({ kind: "refused", call, reason });
    await refuseCall(this.#parts.server, { toolCallId: call.toolCallId, reason }, this.#leaving);
  }

  #enqueue(call: ShownCall, tool: ToolDefinition): void {
    const { threadId, toolCallId } = call;
    const work: Parameters<CallQueue["add"]>[1]["work"] = async (scope) => {
      const approved = this.#approved.get(toolCallId);
      this.#approved.delete(toolCallId);
      const onLine = (line: ReportLine, isOpen: boolean): void => {
        if (isOpen) this.#lines.set(line, threadId);
        else this.#lines.delete(line);
      };
      await runCall(this.#parts, { call, tool, scope, approved, signal: this.#givingUp.signal, onLine });
    };
    this.#queue.add(toolCallId, { threadId, work });
  }

  async #lookAtUnseen(): Promise<void> {
    for (const threadId of [...this.#unseen]) {
      if (this.#leaving.aborted || this.#queue.isFull) return;
      await this.#lookAtOffered(threadId, Number.POSITIVE_INFINITY).catch((error: unknown) => this.#problem(error));
    }
  }

  async #stop(): Promise<void> {
    this.#queue.close();
    await this.#questions.close();
    const { stopGraceMs } = this.#parts.settings;
    const timer = setTimeout(
      () => this.#givingUp.abort(new Error("the server has not answered")),
      stopGraceMs + farewellMs,
    );
    await this.#queue.settled();
    clearTimeout(timer);
  }

  #problem(error: unknown): void {
    if (this.#leaving.aborted || this.#givingUp.signal.aborted) return;
    const message =
      error instanceof ConnectError ? error.rawMessage : error instanceof Error ? error.message : String(error);
    this.#parts.on({ kind: "problem", message });
  }
}

function forgetOldest(remembered: Map<string, unknown> | Set<string>): void {
  const oldest = remembered.size >= mostAnswers ? remembered.keys().next().value : undefined;
  if (oldest !== undefined) remembered.delete(oldest);
}
