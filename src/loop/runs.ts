// The runs that this process works on: started by a message, gone on with after a restart, called off, and let go when the
// server stops. Whatever happens to one, its thread is free in the end (T1).
import { setTimeout as sleep } from "node:timers/promises";
import { type EventLog, nameOf, type ThreadKey } from "../log/event-log.js";
import type { Model } from "../model/model.js";
import { interruptRun } from "../recorder/interrupt.js";
import type { LeaseClock } from "../recorder/lease-clocks.js";
import type { Recorder } from "../recorder/recorder.js";
import { RunRecorder } from "../recorder/run-recorder.js";
import type { ThreadDraft } from "../recorder/thread-draft.js";
import { HeddleError, isError } from "../thread/errors.js";
import type { OpenCall } from "../thread/open-call.js";
import { ApprovalDecision, type RunDocument } from "../thread/schema.js";
import { timestampMs } from "../thread/time.js";
import type { ToolRegistry } from "../tool/registry.js";
import { type ApprovalSettings, Approvals } from "./approvals.js";
import { driveRun } from "./drive-run.js";
import { type RunDefaults, resolveOptions, toolsFor } from "./options.js";
import { type ApprovalAnswer, answerApproval, cancelParked, resumeRun } from "./parked.js";
import { recoverRun } from "./recover-run.js";
import { Run, type RunLimits } from "./run.js";
import type { CallResult } from "./run-tool-call.js";
import { type SendRequest, startRun } from "./start-run.js";

export interface RunsParts {
  readonly log: EventLog;
  readonly recorder: Recorder;
  readonly tools: ToolRegistry;
  /** What becomes of their calls. */
  readonly policy: ApprovalSettings;
  /** When questions expire. */
  readonly clock?: LeaseClock;
  /** Throws `model_not_offered`. */
  readonly modelFor: (name: string) => Model;
  readonly defaults: RunDefaults;
  readonly limits: RunLimits;
  readonly workspace: string | undefined;
  /** What becomes of a run that a server's end cut off. */
  readonly afterRestart: "continue" | "end";
  readonly onError: (error: unknown, key: ThreadKey) => void;
}

interface Launch {
  readonly runId: string;
  /** The run to work on. Undefined: there is nothing to do. */
  readonly started: RunDocument | undefined;
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

/** A run is taken up in far fewer steps than this. */
const callOffAttempts = 10;

/** Between tries to end a run whose thread cannot be written. */
const giveUpEveryMs = 1_000;

export class Runs {
  readonly #parts: RunsParts;
  readonly #active = new Map<string, { readonly run: Run; readonly done: Promise<void> }>();
  /** Writes that leave a run to be worked on, and their threads. */
  readonly #launching = new Map<Promise<unknown>, string>();
  readonly #closing = new AbortController();
  readonly #approvals: Approvals;

  constructor(parts: RunsParts) {
    this.#parts = parts;
    this.#approvals = new Approvals(parts.policy, (key, toolCallId) => this.#expire(key, toolCallId), parts.clock);
  }

  get active(): number {
    return this.#active.size;
  }

  get tools(): ToolRegistry {
    return this.#parts.tools;
  }

  get policy(): ApprovalSettings {
    return this.#parts.policy;
  }

  /** Starts a run, or finds the one that the same request started. Resolves with its id once the message is stored. */
  async start(key: ThreadKey, request: SendRequest): Promise<string> {
    if (this.#closing.signal.aborted)
      throw new HeddleError("shutting_down", "The server is shutting down: send the message again elsewhere or later");
    const options = resolveOptions(request.options, this.#parts.defaults, this.#parts.tools);
    const model = this.#parts.modelFor(options.model);
    const isFull = this.#active.size + this.#launching.size >= mostRuns;
    const { runId } = await this.#writeAndLaunch(key, (draft) =>
      startRun(draft, request, { options, modelName: model.name, isFull }),
    );
    return runId;
  }

  /** Resolves when the run is being called off; its end is an event. */
  async cancel(key: ThreadKey, runId: string, reason = ""): Promise<void> {
    await this.#callOff(key, {
      tell: () => {
        const active = this.#active.get(runId);
        if (active?.run.key.threadId !== key.threadId) return false;
        active.run.stop({ kind: "cancelled", reason });
        return true;
      },
      inLog: (draft, isTold) => {
        const { run, lease } = draft.document;
        if (!run || lease || draft.document.runId !== runId) {
          if (isTold) return undefined;
          throw new HeddleError("run_not_found", `Thread ${key.threadId} has no open run ${runId} to call off`);
        }
        return draft.state.run?.suspended ? cancelParked(draft, reason) : undefined;
      },
    });
  }

  /** The same for one call; its run goes on. */
  async cancelCall(key: ThreadKey, toolCallId: string, reason = ""): Promise<void> {
    const stop = { kind: "cancelled", reason } as const;
    let runId = "";
    await this.#callOff(key, {
      tell: () => {
        for (const { run } of this.#active.values()) if (run.stopCall(toolCallId, stop)) return true;
        // A run that has just been taken up again has not come to its calls yet.
        this.#active.get(runId)?.run.callScope(toolCallId).stop(stop);
        return this.#active.has(runId);
      },
      inLog: (draft, isTold) => {
        const { lease } = draft.document;
        if (!draft.state.calls.has(toolCallId)) {
          if (isTold) return undefined;
          throw new HeddleError("tool_call_over", `Tool call ${toolCallId} is over: there is nothing to call off`);
        }
        if (lease)
          throw new HeddleError("tool_call_not_ours", `${lease.producer} runs this call: only it can call it off`, {
            detail: { producer: lease.producer },
          });
        runId = draft.document.runId;
        return draft.state.run?.suspended ? cancelParked(draft, reason, toolCallId) : undefined;
      },
    });
  }

  /**
   * A run that is worked on is told, a suspended one is changed in the log. Telling comes first: a run that has been told is not
   * suspended any more, and one that was suspended before shows in the log. One that is between the two is tried again.
   */
  async #callOff(
    key: ThreadKey,
    { tell, inLog }: { tell: () => boolean; inLog: (draft: ThreadDraft, isTold: boolean) => RunDocument | undefined },
  ): Promise<void> {
    for (let attempt = 0; attempt < callOffAttempts; attempt++) {
      // A run whose first event somebody has seen may not be launched yet.
      const launching = [...this.#launching].filter(([, name]) => name === nameOf(key));
      await Promise.allSettled(launching.map(([launched]) => launched));
      const isTold = tell();
      const { isSuspended } = await this.#changeAndLaunch(key, (draft) => {
        const isSuspended = draft.state.run?.suspended ?? false;
        const { runId } = draft.document;
        return { runId, isSuspended, started: inLog(draft, isTold) };
      });
      if (isTold || isSuspended) return;
    }
  }

  /**
   * Somebody's answer to the question whether a call may run. Resolves once it is stored: the call then runs, or is over. Of two
   * answers, one counts.
   */
  async answer(key: ThreadKey, toolCallId: string, answer: ApprovalAnswer): Promise<void> {
    let result: CallResult | undefined;
    const { runId, started } = await this.#changeAndLaunch(key, (draft) => {
      result = answerApproval(draft, toolCallId, answer);
      return { runId: draft.document.runId, started: resumeRun(draft) };
    });
    this.#approvals.stopClock(toolCallId);
    // A run that was suspended finds the answer in the log.
    if (started) return;
    const waits = this.#active.get(runId)?.run.waits;
    waits?.answer(toolCallId, result ? { kind: "ended", result } : { kind: "allowed" });
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
    await this.#writeAndLaunch(key, (draft) => {
      const { runId } = draft.document;
      const { afterRestart } = this.#parts;
      const started = recoverRun(draft, { afterRestart, isOffered: (model) => this.#isOffered(model) });
      waiting = [...draft.state.calls.values()].filter(({ state }) => state === "awaiting_approval");
      return { runId, started };
    });
    for (const { call } of waiting) {
      const { expireTime } = call.approval ?? {};
      if (expireTime) this.#approvals.startClock(key, call.id, timestampMs(expireTime));
    }
  }

  /** Calls off what runs, and waits for it: a second or two. Runs that go on after a restart are left open. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#approvals.dispose();
    for (const { run } of this.#active.values()) run.stop({ kind: "server_stopping" });
    while (this.#launching.size > 0) await Promise.allSettled(this.#launching.keys());
    await Promise.all([...this.#active.values()].map(({ done }) => done));
  }

  /**
   * The same for a change that may be refused because of what others have just changed: that counts once it is stored, and so does
   * the refusal. Contract: refuses before it records anything.
   */
  async #changeAndLaunch<L extends Launch>(key: ThreadKey, change: (draft: ThreadDraft) => L): Promise<L> {
    let refusal: unknown;
    const launch = await this.#writeAndLaunch(key, (draft): L | Launch => {
      try {
        return change(draft);
      } catch (error) {
        if (draft.frames.length > 0) throw error;
        refusal = error;
        return { runId: "", started: undefined };
      }
    });
    if (refusal !== undefined) throw refusal;
    return launch as L;
  }

  /** Works on the run that the write leaves, as soon as it is stored. */
  async #writeAndLaunch<L extends Launch>(key: ThreadKey, write: (draft: ThreadDraft) => L): Promise<L> {
    const launched = this.#parts.recorder.write(key, write).then((launch) => {
      if (launch.started) this.#launch(key, launch.runId, launch.started);
      return launch;
    });
    this.#launching.set(launched, nameOf(key));
    try {
      return await launched;
    } finally {
      this.#launching.delete(launched);
    }
  }

  #isOffered(model: string): boolean {
    try {
      return this.#parts.modelFor(model) !== undefined;
    } catch {
      return false;
    }
  }

  #launch(key: ThreadKey, runId: string, document: RunDocument): void {
    const { log, recorder, tools, modelFor, limits, workspace } = this.#parts;
    const options = document.options!;
    const run = new Run({
      key,
      runId,
      recorder: new RunRecorder(recorder, key, { runId }),
      model: modelFor(options.model),
      tools: toolsFor(options, tools),
      workspace,
      options,
      limits,
      approvals: this.#approvals,
      staysOpen: this.#parts.afterRestart === "continue",
      usage: document.usage,
      steps: document.steps,
    });
    // A run that was suspended a moment ago may still be leaving.
    const before = this.#active.get(runId)?.done;
    const work = async (): Promise<void> => {
      try {
        if (before && !(await this.#isStillOpen(run, before))) return;
        await driveRun(run, { log, document });
      } catch (error) {
        this.#parts.onError(error, key);
        await this.#giveUp(run);
      } finally {
        run.recorder.close();
        if (this.#active.get(runId)?.run === run) this.#active.delete(runId);
      }
    };
    if (this.#closing.signal.aborted) run.stop({ kind: "server_stopping" });
    this.#active.set(runId, { run, done: work() });
  }

  /** Whoever left it may have had to end it. */
  async #isStillOpen({ key, runId }: Run, before: Promise<void>): Promise<boolean> {
    await before;
    return this.#parts.recorder.write(key, (draft) => draft.state.run?.runId === runId);
  }

  /** Something broke that is not the model's or a tool's fault. The thread is freed as soon as it can be written. */
  async #giveUp({ key, runId }: Run): Promise<void> {
    const why = { reason: "something inside the server failed; its log says more", kind: "internal" };
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#parts.recorder.write(key, (draft) => {
          if (draft.state.run?.runId === runId) interruptRun(draft, why);
        });
        return;
      } catch (error) {
        if (isError(error, "thread_deleted") || isError(error, "thread_not_found")) return;
        if (attempt === 1) this.#parts.onError(error, key);
      }
      // At the next start, recovery does it.
      const isClosing = await sleep(giveUpEveryMs, false, { signal: this.#closing.signal }).catch(() => true);
      if (isClosing) return;
    }
  }
}
