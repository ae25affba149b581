// Writes down what becomes of background processes. A process is begun by a call of the open run; its end may come when the run
// has long been over, and is recorded as soon as the log can be written.
import { setTimeout as sleep } from "node:timers/promises";
import type { ThreadKey } from "../log/event-log.js";
import type { Recorder } from "../recorder/recorder.js";
import { isError } from "../thread/errors.js";
import { newEvent } from "../thread/event.js";
import { defaultTenant, type ThreadId } from "../thread/ids.js";
import { limits } from "../thread/limits.js";
import { ProcessOutcome } from "../thread/schema.js";
import type { ProcessBeginning, ProcessEnding, ProcessJournal } from "../tool/process/journal.js";
import { ToolFailure } from "../tool/tool.js";

/** Between tries to record an end. */
const tryEveryMs = 1_000;

export class RecordedProcesses implements ProcessJournal {
  readonly #closing = new AbortController();
  #recorder: Recorder | undefined;
  #onError: (error: unknown, key: ThreadKey) => void = () => {};

  /** Tools are there before the log is open. Contract: called before any of them runs. */
  recordWith(recorder: Recorder, onError: (error: unknown, key: ThreadKey) => void): void {
    this.#recorder = recorder;
    this.#onError = onError;
  }

  /** From now on an end is tried once: a log that cannot be written holds up nobody, and the next start records it. */
  close(): void {
    this.#closing.abort();
  }

  begin({ threadId, toolCallId, command }: ProcessBeginning): Promise<string> {
    return this.#recorder!.write(keyOf(threadId), (draft) => {
      const { runId } = draft.document;
      // One that was called off and went on nevertheless.
      if (!draft.state.calls.has(toolCallId))
        throw new ToolFailure("The call is over: it starts nothing any more", { code: "ECANCELED" });
      if (draft.document.processes.length >= limits.processes)
        throw new ToolFailure(`${limits.processes} processes run in this thread already; stop some first`, {
          code: "EAGAIN",
        });
      const { payload } = draft.record(
        newEvent({ runId, payload: { case: "processStarted", value: { toolCallId, command } } }),
      );
      return payload.case === "processStarted" ? payload.value.processId : "";
    });
  }

  async end(threadId: string, processId: string, ending: ProcessEnding): Promise<void> {
    const key = keyOf(threadId);
    const { signal } = this.#closing;
    for (let attempt = 1; attempt === 1 || !signal.aborted; attempt++) {
      try {
        return await this.#record(key, processId, ending);
      } catch (error) {
        if (isError(error, "thread_deleted") || isError(error, "thread_not_found")) return;
        if (attempt === 1) this.#onError(error, key);
        await sleep(tryEveryMs, undefined, { signal }).catch(() => {});
      }
    }
  }

  async begun(threadId: string): Promise<number> {
    return (await this.#recorder!.view(keyOf(threadId))).document.processCount;
  }

  async #record(
    key: ThreadKey,
    processId: string,
    { outcome, exitCode, summary, outputBytes }: ProcessEnding,
  ): Promise<void> {
    await this.#recorder!.write(key, (draft) => {
      const process = draft.document.processes.find((known) => known.processId === processId);
      // An end that seemed to fail may have been stored.
      if (!process) return;
      const value = {
        processId,
        outcome: outcomes[outcome],
        summary,
        outputBytes: BigInt(outputBytes),
        ...(exitCode !== undefined && { exitCode }),
      };
      draft.record(newEvent({ runId: process.runId, payload: { case: "processExited", value } }));
    });
  }
}

const outcomes: Readonly<Record<ProcessEnding["outcome"], ProcessOutcome>> = {
  exited: ProcessOutcome.EXITED,
  stopped: ProcessOutcome.STOPPED,
  limit: ProcessOutcome.LIMIT,
  not_started: ProcessOutcome.NOT_STARTED,
  interrupted: ProcessOutcome.INTERRUPTED,
};

const keyOf = (threadId: string): ThreadKey => ({ tenant: defaultTenant, threadId: threadId as ThreadId });
