// One open run while this process works on it: what it was asked for, what it has used, and what is under way in it.
import { create } from "@bufbuild/protobuf";
import type { ThreadKey } from "../log/event-log.js";
import type { Model, ModelMessage, ModelUsage } from "../model/model.js";
import type { RunRecorder } from "../recorder/run-recorder.js";
import type { ThreadDraft } from "../recorder/thread-draft.js";
import { ForkedMap } from "../thread/forked-map.js";
import { RunCompletedSchema, type RunDocument, type RunOptions, type Usage, UsageSchema } from "../thread/schema.js";
import type { ToolRegistry } from "../tool/registry.js";
import type { ToolDefinition } from "../tool/tool.js";
import type { Approvals } from "./approvals.js";
import type { ClaimClocks } from "./claim-clocks.js";
import { DelegatedTasks } from "./delegated-tasks.js";
import { suspendRun } from "./parked.js";
import type { RunTools } from "./run-tools.js";
import { Scope } from "./scope.js";
import type { RunStop, Stop } from "./stop.js";
import type { TurnEnd } from "./turn-end.js";
import { Waits } from "./waits.js";

export type { Scope } from "./scope.js";

export interface RunLimits {
  /** For tools that name no limit of their own. */
  readonly toolTimeoutMs: number;
  /** A tool that says nothing for so long gets a "still running". */
  readonly quietMs: number;
  /** What a tool or a model gets to end by itself once it is called off. */
  readonly stopGraceMs: number;
  /** How long a call waits for a client to claim it. */
  readonly claimTimeoutMs: number;
  /** Waiting before the model is asked again: doubled each time. */
  readonly firstBackoffMs: number;
}

export interface RunParts {
  readonly key: ThreadKey;
  readonly runId: string;
  readonly recorder: RunRecorder;
  readonly model: Model;
  /** Those that the run may use. */
  readonly toolbox: RunTools;
  readonly workspace: string | undefined;
  /** With all defaults filled in. */
  readonly options: RunOptions;
  readonly limits: RunLimits;
  readonly approvals: Approvals;
  readonly claims: ClaimClocks;
  /** When the server stops, it is left as it is, and gone on with at the next start. */
  readonly staysOpen: boolean;
  /** Levels of threads that tasks may still be delegated to. */
  readonly levelsBelow: number;
  /** How far it has come. */
  readonly document: RunDocument;
}

export class Run {
  readonly key: ThreadKey;
  readonly runId: string;
  readonly recorder: RunRecorder;
  readonly model: Model;
  readonly toolbox: RunTools;
  readonly workspace: string | undefined;
  readonly options: RunOptions;
  readonly limits: RunLimits;
  readonly approvals: Approvals;
  readonly claims: ClaimClocks;
  readonly staysOpen: boolean;
  /** The call whose task it works on. Empty: a message started it. */
  readonly parentToolCallId: string;
  /** How many threads are above its own. */
  readonly depth: number;
  readonly levelsBelow: number;
  readonly tasks: DelegatedTasks;
  readonly waits: Waits;
  /** When its time is up, as `performance.now()` has it. */
  endsMs = Number.POSITIVE_INFINITY;
  /** The conversation as the model sees it. */
  readonly messages: ModelMessage[] = [];
  /** What is on its way to the disk while the run goes on. */
  #underWay: Promise<unknown>[] = [];
  /** The first of it that could not be stored. */
  #lost: Error | undefined;
  #onLost: ((error: Error) => void) | undefined;
  /** Few: the reply that is asked for, and the calls of one reply. */
  readonly #scopes: Scope[] = [];
  readonly #calls = new ForkedMap<string, Scope>();
  #question: AbortController | undefined;
  #usage: Usage | undefined;
  /** Where it stood when its options were asked for. */
  readonly #asked: { readonly steps: number; readonly toolCalls: number };
  #steps: number;
  #toolCalls: number;
  #stop: RunStop | undefined;

  constructor(parts: RunParts) {
    this.key = parts.key;
    this.runId = parts.runId;
    this.recorder = parts.recorder;
    this.model = parts.model;
    this.toolbox = parts.toolbox;
    this.workspace = parts.workspace;
    this.options = parts.options;
    this.limits = parts.limits;
    this.approvals = parts.approvals;
    this.claims = parts.claims;
    this.staysOpen = parts.staysOpen;
    this.waits = new Waits((toolCallIds) => {
      const suspended = this.recorder.note(
        (draft) => !this.#isCalledOff(toolCallIds) && suspendRun(draft, toolCallIds),
      );
      this.goOnWhile(suspended); // A run that is called off meanwhile does not leave before it is stored.
      return suspended;
    });
    this.parentToolCallId = parts.document.parentToolCallId;
    this.depth = parts.document.depth;
    this.levelsBelow = parts.levelsBelow;
    this.tasks = new DelegatedTasks(parts.document);
    this.#usage = parts.document.usage;
    this.#asked = { steps: parts.document.askedSteps, toolCalls: parts.document.askedToolCalls };
    this.#steps = parts.document.steps;
    this.#toolCalls = parts.document.toolCalls;
  }

  /** Those that the run may use, as they are now. */
  get tools(): ToolRegistry {
    return this.toolbox.registry;
  }

  /** Undefined while no provider has named any. */
  get usage(): Usage | undefined {
    return this.#usage;
  }

  /** What its limit counts: its own, and those of the tasks that it has delegated. */
  get tokens(): bigint {
    return (this.#usage ? this.#usage.inputTokens + this.#usage.outputTokens : 0n) + this.tasks.tokens;
  }

  /** How often the model has answered since the run's options were asked for. */
  get steps(): number {
    return this.#steps - this.#asked.steps;
  }

  /** How many calls the model has made since then. */
  get toolCalls(): number {
    return this.#toolCalls - this.#asked.toolCalls;
  }

  get stopped(): RunStop | undefined {
    return this.#stop;
  }

  /** Calls off everything under way, and everything that would begin. The first reason counts. */
  stop(stop: RunStop): void {
    this.#stop ??= stop;
    for (const scope of [...this.#scopes]) scope.stop(this.#stop);
  }

  /** The run goes on while this is being stored. `stored` hears of a failure; a start that stands behind it in the log fails by itself. */
  goOnWhile(write: Promise<unknown>): void {
    write.catch((error: Error) => {
      this.#lost ??= error;
      this.#onLost?.(this.#lost);
    });
    this.#underWay.push(write);
  }

  /**
   * Calls back when something that was left under way could not be stored, also before. Returns what takes the callback away again.
   * Contract: one at a time.
   */
  onLost(callback: (error: Error) => void): () => void {
    if (this.#lost) callback(this.#lost);
    this.#onLost = callback;
    return () => {
      this.#onLost = undefined;
    };
  }

  /** Resolves when all that the run has left under way so far is stored; rejects when some of it could not be. Each failure is told once. */
  stored(): Promise<unknown> {
    const underWay = this.#underWay;
    this.#underWay = [];
    if (underWay.length === 1) return underWay[0]!; // goOnWhile hears of its failure, too.
    const all = Promise.all(underWay);
    all.catch(() => {}); // Heard when it is waited for.
    return all;
  }

  /** What a call gets to end by itself. One that delegates gives those of the runs below it the same, one after the other. */
  graceMsFor({ delegates }: ToolDefinition): number {
    return this.limits.stopGraceMs * (delegates ? 1 + this.levelsBelow : 1);
  }

  /** The scope of a question to the model. They come one after the other, and share a signal until it is used: one for each is dear. */
  openQuestion(): Scope {
    if (!this.#question || this.#question.signal.aborted) this.#question = new AbortController();
    return this.openScope(this.#question);
  }

  /** Contract: closed when what it is for is over. */
  openScope(controller?: AbortController): Scope {
    const scope = new Scope((closed) => this.#forget(closed), controller);
    this.#scopes.push(scope);
    if (this.#stop) scope.stop(this.#stop);
    return scope;
  }

  /** Scopes that nobody has closed are few, and the newest is closed first. */
  #forget(scope: Scope): void {
    const at = this.#scopes.lastIndexOf(scope);
    if (at >= 0) this.#scopes.splice(at, 1);
  }

  /** The scope of a call, from its creation to its end. */
  callScope(toolCallId: string): Scope {
    const known = this.#calls.get(toolCallId);
    if (known) return known;
    const scope = this.openScope();
    this.#calls.set(toolCallId, scope);
    return scope;
  }

  endCall(toolCallId: string): void {
    this.#calls.get(toolCallId)?.close();
    this.#calls.delete(toolCallId);
  }

  /** Whether the call is open here. */
  holds(toolCallId: string): boolean {
    return this.#calls.has(toolCallId);
  }

  /** False when no such call is open here. */
  stopCall(toolCallId: string, stop: Stop): boolean {
    const scope = this.#calls.get(toolCallId);
    scope?.stop(stop);
    return scope !== undefined;
  }

  #isCalledOff(toolCallIds: readonly string[]): boolean {
    return this.#stop !== undefined || toolCallIds.some((id) => this.#calls.get(id)?.stopped);
  }

  /** A reply has come: what it used is kept with it, and how it ended where nothing follows it. */
  countStep(
    usage: ModelUsage | undefined,
    { calls, answered }: { calls: number; answered: TurnEnd | undefined },
  ): (draft: ThreadDraft) => void {
    this.#steps++;
    this.#toolCalls += calls;
    this.addUsage(usage);
    const answer = answered && create(RunCompletedSchema, answered);
    return (draft) => {
      // It waits for something to go with: another run may have begun meanwhile.
      if (draft.document.runId !== this.runId) return;
      const changes: Partial<RunDocument> = { steps: this.#steps, toolCalls: this.#toolCalls };
      if (this.#usage) changes.usage = this.#usage;
      if (answer) changes.answered = answer;
      draft.changeRun(changes);
    };
  }

  /** Undefined: the provider has not said. */
  addUsage(usage: ModelUsage | undefined): void {
    if (!usage) return;
    const before = this.#usage ?? create(UsageSchema);
    this.#usage = {
      ...before,
      inputTokens: before.inputTokens + tokens(usage.inputTokens),
      cachedInputTokens: before.cachedInputTokens + tokens(usage.cachedInputTokens),
      outputTokens: before.outputTokens + tokens(usage.outputTokens),
      reasoningTokens: before.reasoningTokens + tokens(usage.reasoningTokens),
    };
  }

  /** What was used so far, for the thread's document. */
  noteUsage(draft: ThreadDraft): void {
    if (this.#usage) draft.changeRun({ usage: this.#usage });
  }
}

/** A provider may say anything; what is stored has 64 bits. */
const tokens = (count: number): bigint =>
  count > 0 ? BigInt(Math.round(Math.min(count, Number.MAX_SAFE_INTEGER))) : 0n;
