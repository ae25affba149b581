// Runs of delegated tasks: each in a thread of its own, below the thread of the call that delegates it. A sub-run lives while that
// call is open, and no longer: whatever ends the call ends the run first, and after a restart recovery does (recover-run.ts).
import { setTimeout as sleep } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import type { EventLog, ThreadKey } from "../log/event-log.js";
import type { Recorder } from "../recorder/recorder.js";
import { isError } from "../thread/errors.js";
import { childThreadOf } from "../thread/ids.js";
import { type RunOptions, ThreadDocumentSchema } from "../thread/schema.js";
import { cleanSummary } from "../thread/summary.js";
import { now } from "../thread/time.js";
import type { SubProgress, SubRunEnd, SubRuns, SubTask } from "../tool/delegate/sub-runs.js";
import { ToolFailure } from "../tool/tool.js";
import type { DelegationLimits } from "./delegated-tasks.js";
import { followLog } from "./follow-log.js";
import { Places } from "./places.js";
import type { Run } from "./run.js";
import type { Runs } from "./runs.js";
import { type RunStop, Stopped } from "./stop.js";
import { SubRunFold } from "./sub-run-fold.js";

interface SubRunsParts {
  readonly log: EventLog;
  readonly recorder: Recorder;
  readonly runs: Pick<Runs, "runOf" | "startTask" | "stop">;
  readonly onError: (error: unknown, key: ThreadKey) => void;
}

/** A sub-run that has begun. */
interface Child {
  readonly key: ThreadKey;
  readonly runId: string;
}

/** Between tries to call off a run whose thread cannot be written. */
const tryEveryMs = 1_000;

export class ChildRuns implements SubRuns {
  readonly #limits: DelegationLimits;
  readonly #places = new Places();
  #parts: SubRunsParts | undefined;

  constructor(limits: DelegationLimits) {
    this.#limits = limits;
  }

  /** Tools are there before the runs. Contract: called before any of them runs. */
  runWith(parts: SubRunsParts): void {
    this.#parts = parts;
  }

  async run(task: SubTask): Promise<SubRunEnd> {
    const parent = this.#parentOf(task);
    this.#count(parent);
    const { atOnce } = this.#limits;
    if (this.#places.isFull(parent.runId, atOnce)) task.onProgress(waitingForAPlace);
    const leave = await this.#places.take(parent.runId, atOnce, task.signal);
    try {
      const child = await this.#begin(task, parent);
      return await this.#follow(task, child, parent);
    } finally {
      leave();
    }
  }

  #parentOf({ toolCallId }: SubTask): Run {
    const run = this.#parts?.runs.runOf(toolCallId);
    if (!run) throw new ToolFailure("The call that delegates the task is over", { code: "ECANCELED" });
    return run;
  }

  #count(parent: Run): void {
    const { depth, perRun } = this.#limits;
    if (parent.levelsBelow === 0)
      throw new ToolFailure(`Tasks may be delegated ${depth} deep, and this is the deepest level; do it yourself`, {
        code: "EPERM",
      });
    if (parent.tasks.count >= perRun)
      throw new ToolFailure(`A run may delegate ${perRun} tasks, and this one has; do it yourself`, { code: "EDQUOT" });
    parent.tasks.begin();
    noteTasks(parent);
  }

  async #begin(task: SubTask, parent: Run): Promise<Child> {
    const { log, recorder, runs } = this.#parts!;
    const { toolCallId, title, prompt } = task;
    const key = { tenant: parent.key.tenant, threadId: childThreadOf(toolCallId) };
    const document = create(ThreadDocumentSchema, {
      title: cleanSummary(recorder.redacted(title)),
      createTime: now(),
      parent: { threadId: parent.key.threadId, toolCallId, depth: parent.depth + 1 },
    });
    if (!(await log.create(key, toBinary(ThreadDocumentSchema, document))))
      throw new ToolFailure("The thread of the task is in use already; delegate the task again", { code: "EEXIST" });
    const request = { requestId: toolCallId, text: prompt, options: optionsFor(parent) };
    try {
      return { key, runId: await runs.startTask(key, request, toolCallId) };
    } catch (error) {
      if (isError(error, "limit_exceeded"))
        throw new ToolFailure("The server works on as many runs as it can; do it yourself, or try again later", {
          code: "EAGAIN",
          cause: error,
        });
      throw error;
    }
  }

  /** To its end, also when it is called off: whoever cannot wait for that leaves it to itself, and it ends all the same. */
  async #follow(task: SubTask, child: Child, parent: Run): Promise<SubRunEnd> {
    const { signal } = task;
    const callOff = (): void => void this.#callOff(child, stopOf(signal.reason));
    signal.addEventListener("abort", callOff, { once: true });
    if (signal.aborted) callOff();
    const fold = new SubRunFold(child.key.threadId, child.runId);
    let told: SubProgress = fold.progress;
    try {
      for await (const events of followLog(this.#parts!.log, child.key)) {
        for (const event of events) fold.take(event);
        if (fold.end) {
          this.#charge(parent, fold.tokens);
          return fold.end;
        }
        if (isNews(fold.progress, told)) task.onProgress(fold.progress);
        told = fold.progress;
      }
    } catch (error) {
      // What cannot be followed must not go on.
      await this.#callOff(child, { kind: "cancelled", reason: "the task could not be followed" });
      throw error;
    } finally {
      signal.removeEventListener("abort", callOff);
    }
    throw new ToolFailure("The thread of the task was deleted before its result was read; delegate the task again", {
      code: "ENOENT",
    });
  }

  /** Of the run that delegated it, and of those above. */
  #charge(parent: Run, tokens: bigint): void {
    for (let run: Run | undefined = parent; run; run = this.#parts?.runs.runOf(run.parentToolCallId)) {
      run.tasks.use(tokens);
      noteTasks(run);
    }
  }

  /** Resolves when the run is ending, or has ended. What fails is tried again until the log is closed: the next start ends it. */
  async #callOff({ key, runId }: Child, stop: RunStop): Promise<void> {
    const { runs, onError } = this.#parts!;
    for (let attempt = 1; ; attempt++) {
      try {
        if (await runs.stop(key, runId, stop)) return;
      } catch (error) {
        if (isOver(error)) return;
        if (attempt === 1) onError(error, key);
      }
      if (attempt > 1) await sleep(tryEveryMs);
    }
  }
}

const waitingForAPlace: SubProgress = { toolCalls: 0, summary: "Waiting for another task to end", isWaiting: false };

const isNews = (progress: SubProgress, told: SubProgress): boolean =>
  progress.toolCalls !== told.toolCalls || progress.summary !== told.summary || progress.isWaiting !== told.isWaiting;

const isOver = (error: unknown): boolean =>
  (["run_not_found", "thread_deleted", "thread_not_found", "shutting_down"] as const).some((code) =>
    isError(error, code),
  );

/** A count that could not be stored is one of a run that is about to end. */
const noteTasks = ({ recorder, tasks, runId }: Run): void =>
  void recorder.note((draft) => tasks.note(draft, runId)).catch(() => {});

const role =
  "You are a sub-agent: another agent has given you one task, and reads only your last message. Do the task with your tools, ask nobody back, and end with a message that holds the whole result.";

/** Those of the run that delegates. A demand for a tool was met by its own first reply. */
function optionsFor({ options, tokens }: Run): RunOptions {
  const { toolChoice: _, ...inherited } = options;
  const left = options.maxTokens - tokens;
  return {
    ...inherited,
    instructions: withRole(options.instructions),
    maxTokens: options.maxTokens === 0n ? 0n : left > 1n ? left : 1n,
  };
}

/** Said once, however deep it is. */
function withRole(instructions: string): string {
  if (instructions.endsWith(role)) return instructions;
  return instructions === "" ? role : `${instructions}\n\n${role}`;
}

/** Why the call ends, as the run below is told. */
function stopOf(reason: unknown): RunStop {
  const stop = reason instanceof Stopped ? reason.stop : undefined;
  switch (stop?.kind) {
    case "server_stopping":
      return stop;
    case "tool_timeout":
    case "run_timeout":
      return { kind: "cancelled", reason: "the time of the task is up" };
    case "executor_stopping": // No executor runs what delegates.
      return { kind: "cancelled", reason: "the task was called off" };
    case "cancelled":
    case undefined:
      return { kind: "cancelled", reason: stop?.reason || "the task was called off" };
  }
}
