// What can be done to the runs of Heddle's own: a message starts one, a restart goes on with it, a person answers what it asks,
// anybody calls it or one of its calls off, and the server lets them go when it stops.
import type { EventLog, ThreadKey } from "../log/event-log.js";
import type { Model } from "../model/model.js";
import type { LeaseClock } from "../recorder/lease-clocks.js";
import type { Recorder } from "../recorder/recorder.js";
import { RunRecorder } from "../recorder/run-recorder.js";
import type { ThreadDraft } from "../recorder/thread-draft.js";
import { HeddleError, isError } from "../thread/errors.js";
import type { OpenCall } from "../thread/open-call.js";
import { ApprovalDecision, type RunOptions } from "../thread/schema.js";
import { timestampMs } from "../thread/time.js";
import { ActiveRuns, type Begun } from "./active-runs.js";
import { type ApprovalSettings, Approvals } from "./approvals.js";
import { CallingOff } from "./calling-off.js";
import { ClaimClocks } from "./claim-clocks.js";
import { ClientCalls } from "./client-calls.js";
import type { DelegationLimits } from "./delegated-tasks.js";
import { driveRun } from "./drive-run.js";
import { checkModel, type RunDefaults, resolveOptions } from "./options.js";
import { type ApprovalAnswer, answerApproval, askAnew, resumeRun, resumeUnlessParked } from "./parked.js";
import { recoverRun } from "./recover-run.js";
import { Run, type RunLimits } from "./run.js";
import type { CallResult } from "./run-tool-call.js";
import { mayBeTool, RunTools, type ToolSupply, threadTools } from "./run-tools.js";
import { type SendRequest, startRun } from "./start-run.js";
import type { RunStop } from "./stop.js";

export interface RunsParts {
  readonly log: EventLog;
  readonly recorder: Recorder;
  readonly supply: ToolSupply;
  /** What becomes of their calls. */
  readonly policy: ApprovalSettings;
  /** When questions expire. */
  readonly clock?: LeaseClock;
  /** Throws `model_not_offered`. */
  readonly modelFor: (name: string) => Model;
  readonly defaults: RunDefaults;
  readonly limits: RunLimits;
  readonly delegation: DelegationLimits;
  readonly workspace: string | undefined;
  /** What becomes of a run that a server's end cut off. */
  readonly afterRestart: "continue" | "end";
  readonly onError: (error: unknown, key: ThreadKey) => void;
}

/** Runs under way at the same time. */
const mostRuns = 1000;

const nobodyAnswered: ApprovalAnswer = {
  decision: ApprovalDecision.EXPIRED,
  reason: "",
  resolvedBy: "",
  sha256: undefined,
};

/** There is nothing left to answer. */
const isSettled = (error: unknown): boolean =>
  (["tool_call_over", "approval_not_pending", "thread_deleted", "thread_not_found"] as const).some((code) =>
    isError(error, code),
  );

export class Runs {
  readonly #parts: RunsParts;
  readonly #active: ActiveRuns;
  readonly #approvals: Approvals;
  readonly #claims: ClaimClocks;
  readonly #callingOff: CallingOff;
  /** The verbs of clients that run calls. */
  readonly clientCalls: ClientCalls;

  constructor(parts: RunsParts) {
    this.#parts = parts;
    this.#active = new ActiveRuns({
      ...parts,
      create: (key, begun) => this.#create(key, begun),
      drive: (run, document) => driveRun(run, { log: parts.log, document }),
    });
    this.#approvals = new Approvals(parts.policy, (key, toolCallId) => this.#expire(key, toolCallId), parts.clock);
    this.#claims = new ClaimClocks(
      {
        unclaimed: (key, toolCallId) => this.clientCalls.expireUnclaimed(key, toolCallId),
        silent: (key, toolCallId) => this.clientCalls.expireSilent(key, toolCallId),
      },
      parts.clock,
    );
    this.#callingOff = new CallingOff({
      active: this.#active,
      isOffered: (model) => this.#isOffered(model),
      stopClocks: (toolCallId) => this.#stopClocks(toolCallId),
    });
    const { log, limits, onError } = parts;
    this.clientCalls = new ClientCalls({
      log,
      active: this.#active,
      clocks: this.#claims,
      ...limits,
      isOffered: (model) => this.#isOffered(model),
      onError,
    });
  }

  get active(): number {
    return this.#active.size;
  }

  get supply(): ToolSupply {
    return this.#parts.supply;
  }

  get policy(): ApprovalSettings {
    return this.#parts.policy;
  }

  /** Starts a run, or finds the one that the same request started. Resolves with its id once the message is stored. */
  start(key: ThreadKey, request: SendRequest): Promise<string> {
    return this.#start(key, request, "");
  }

  /** The same for the task of a call. Its run ends with the call (sub-runs.ts). */
  startTask(key: ThreadKey, request: SendRequest, parentToolCallId: string): Promise<string> {
    return this.#start(key, request, parentToolCallId);
  }

  async #start(key: ThreadKey, request: SendRequest, parentToolCallId: string): Promise<string> {
    if (this.#active.isClosing)
      throw new HeddleError("shutting_down", "The server is shutting down: send the message again elsewhere or later");
    const isFull = this.#active.expected >= mostRuns;
    const { runId } = await this.#active.write(key, (draft) => {
      const options = this.#options(key, draft, request.options);
      const modelName = this.#parts.modelFor(options.model).name;
      return startRun(draft, request, { options, modelName, isFull, parentToolCallId });
    });
    return runId;
  }

  /** The run of this process in which the call is open. */
  runOf(toolCallId: string): Run | undefined {
    return this.#active.runOf(toolCallId);
  }

  /** Resolves when the run is being called off; its end is an event. */
  async cancel(key: ThreadKey, runId: string, reason = ""): Promise<void> {
    await this.stop(key, runId, { kind: "cancelled", reason });
  }

  /** The same for any reason. False: it could not be caught, and is to be tried again. */
  stop(key: ThreadKey, runId: string, stop: RunStop): Promise<boolean> {
    return this.#callingOff.run(key, runId, stop);
  }

  /** The same for one call; its run goes on. */
  async cancelCall(key: ThreadKey, toolCallId: string, reason = ""): Promise<void> {
    await this.#callingOff.call(key, toolCallId, { kind: "cancelled", reason });
  }

  #stopClocks(toolCallId: string): void {
    this.#approvals.stopClock(toolCallId);
    this.#claims.stop(toolCallId);
  }

  /**
   * Somebody's answer to the question whether a call may run. Resolves once it is stored: the call then runs, or is over. Of two
   * answers, one counts.
   */
  async answer(key: ThreadKey, toolCallId: string, answer: ApprovalAnswer): Promise<void> {
    let result: CallResult | undefined;
    const { runId, started } = await this.#active.change(key, (draft) => {
      // It goes on with the answer, which it can only do with its model. Throws where that is not there.
      if (draft.document.run) this.#parts.modelFor(draft.document.run.options?.model ?? "");
      this.#refuseAbandoned(draft);
      result = answerApproval(draft, toolCallId, answer);
      return { runId: draft.document.runId, started: resumeRun(draft) };
    });
    this.#approvals.stopClock(toolCallId);
    // A run that was suspended finds the answer in the log.
    if (started) return;
    const run = this.#active.get(runId);
    run?.waits.answer(toolCallId, result ? { kind: "ended", result } : { kind: "allowed" });
  }

  /**
   * Goes on with a suspended run: the change records what it waited for. Resolves with the options it goes on with once that is
   * stored. `run_not_found` when it is not suspended.
   */
  async goOn(
    key: ThreadKey,
    runId: string,
    change: (draft: ThreadDraft) => { readonly answered: readonly string[]; readonly asked: RunOptions | undefined },
  ): Promise<void> {
    let answered: readonly string[] = [];
    await this.#active.change(key, (draft) => {
      const { run } = draft.document;
      if (draft.document.runId !== runId || !run || !draft.state.run?.suspended)
        throw new HeddleError("run_not_found", `Thread ${key.threadId} has no run ${runId} that waits`);
      const changed = change(draft);
      answered = changed.answered;
      const options = changed.asked && this.#options(key, draft, changed.asked);
      const started = resumeUnlessParked(draft);
      if (options) askAnew(draft, options);
      return { runId, started: started && draft.document.run };
    });
    for (const toolCallId of answered) this.#stopClocks(toolCallId);
  }

  #options(key: ThreadKey, draft: ThreadDraft, asked: RunOptions | undefined): RunOptions {
    const thread = threadTools(key.threadId, draft.document);
    const isTool = (name: string): boolean => mayBeTool(name, this.#parts.supply, thread);
    const options = resolveOptions(asked, this.#parts.defaults, isTool);
    checkModel(options, this.#parts.modelFor(options.model));
    return options;
  }

  /** A task whose call is over does not go on: it is about to be ended. */
  #refuseAbandoned({ document: { run } }: ThreadDraft): void {
    if (!run?.parentToolCallId || this.#active.runOf(run.parentToolCallId)) return;
    throw new HeddleError("approval_not_pending", "The task that this call belongs to was called off: it will not run");
  }

  /** Nobody answered. A call that does not wait any more needs nothing. */
  async #expire(key: ThreadKey, toolCallId: string): Promise<void> {
    try {
      await this.answer(key, toolCallId, nobodyAnswered);
    } catch (error) {
      if (isSettled(error)) return;
      this.#parts.onError(error, key);
      throw error;
    }
  }

  /** After a restart: what had begun is interrupted, what waits stays, and the run goes on or ends. */
  async recover(key: ThreadKey): Promise<void> {
    let waiting: OpenCall[] = [];
    await this.#active.write(key, (draft) => {
      const { runId } = draft.document;
      const { afterRestart } = this.#parts;
      const started = recoverRun(draft, { afterRestart, isOffered: (model) => this.#isOffered(model) });
      // One whose model is not offered here waits for another server.
      if (draft.document.run && this.#isOffered(draft.document.run.options?.model ?? ""))
        waiting = [...draft.state.calls.values()];
      return { runId, started };
    });
    this.clientCalls.recover(key, waiting);
    for (const { call } of waiting.filter(({ state }) => state === "awaiting_approval")) {
      const { expireTime } = call.approval ?? {};
      if (expireTime) this.#approvals.startClock(key, call.id, timestampMs(expireTime));
    }
  }

  /** Calls off what runs, and waits for it: a second or two. Runs that go on after a restart are left open. */
  async close(): Promise<void> {
    this.#approvals.dispose();
    this.#claims.dispose();
    await this.#active.close();
  }

  #isOffered(model: string): boolean {
    try {
      return this.#parts.modelFor(model) !== undefined;
    } catch {
      return false;
    }
  }

  #create(key: ThreadKey, { runId, document, thread }: Begun): Run {
    const { recorder, supply, modelFor, limits, workspace, afterRestart, delegation } = this.#parts;
    const options = document.options!;
    const levelsBelow = Math.max(0, delegation.depth - document.depth);
    return new Run({
      key,
      runId,
      recorder: new RunRecorder(recorder, key, { runId }),
      model: modelFor(options.model),
      toolbox: new RunTools(supply, { thread, options, levelsBelow }),
      workspace,
      options,
      limits,
      approvals: this.#approvals,
      claims: this.#claims,
      staysOpen: afterRestart === "continue" && document.parentToolCallId === "" && !document.attended,
      levelsBelow,
      document,
    });
  }
}
