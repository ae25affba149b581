// Calling off runs and calls, wherever they stand: worked on in this process, suspended in the log, or between the two.
import type { ThreadKey } from "../log/event-log.js";
import type { ThreadDraft } from "../recorder/thread-draft.js";
import { HeddleError } from "../thread/errors.js";
import type { RunDocument } from "../thread/schema.js";
import type { ActiveRuns } from "./active-runs.js";
import { stopParked } from "./parked.js";
import type { RunStop } from "./stop.js";

interface CallingOffParts {
  readonly active: ActiveRuns;
  /** Whether a run with this model can go on here. */
  readonly isOffered: (model: string) => boolean;
  /** The call waits for nobody any more. */
  readonly stopClocks: (toolCallId: string) => void;
}

/** A run is taken up in far fewer steps than this. */
const callOffAttempts = 10;

export class CallingOff {
  readonly #parts: CallingOffParts;

  constructor(parts: CallingOffParts) {
    this.#parts = parts;
  }

  /** A run, for any reason. False: it could not be caught, and is to be tried again. */
  async run(key: ThreadKey, runId: string, stop: RunStop): Promise<boolean> {
    let waiting: string[] = [];
    const isCaught = await this.#callOff(key, {
      tell: () => {
        const run = this.#parts.active.get(runId);
        if (run?.key.threadId !== key.threadId) return false;
        run.stop(stop);
        return true;
      },
      inLog: (draft, isTold) => {
        waiting = [...draft.state.calls.keys()];
        const { run, lease } = draft.document;
        if (!run || lease || draft.document.runId !== runId) {
          if (isTold) return undefined;
          throw new HeddleError("run_not_found", `Thread ${key.threadId} has no open run ${runId} to call off`);
        }
        return draft.state.run?.suspended ? stopParked(draft, stop) : undefined;
      },
    });
    for (const toolCallId of waiting) this.#parts.stopClocks(toolCallId);
    return isCaught;
  }

  /** One call; its run goes on. */
  async call(key: ThreadKey, toolCallId: string, stop: RunStop): Promise<void> {
    let runId = "";
    await this.#callOff(key, {
      tell: () => {
        if (this.#parts.active.stopCall(toolCallId, stop)) return true;
        // A run that has just been taken up again has not come to its calls yet.
        const run = this.#parts.active.get(runId);
        run?.callScope(toolCallId).stop(stop);
        return run !== undefined;
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
        const mayGoOn = this.#parts.isOffered(draft.document.run?.options?.model ?? "");
        return draft.state.run?.suspended ? stopParked(draft, stop, { toolCallId, mayGoOn }) : undefined;
      },
    });
    this.#parts.stopClocks(toolCallId);
  }

  /**
   * A run that is worked on is told, a suspended one is changed in the log. Telling comes first: a run that has been told is not
   * suspended any more, and one that was suspended before shows in the log. One that is between the two is tried again.
   */
  async #callOff(
    key: ThreadKey,
    { tell, inLog }: { tell: () => boolean; inLog: (draft: ThreadDraft, isTold: boolean) => RunDocument | undefined },
  ): Promise<boolean> {
    for (let attempt = 0; attempt < callOffAttempts; attempt++) {
      await this.#parts.active.launched(key);
      const isTold = tell();
      const { isSuspended } = await this.#parts.active.change(key, (draft) => {
        const isSuspended = draft.state.run?.suspended ?? false;
        const { runId } = draft.document;
        return { runId, isSuspended, started: inLog(draft, isTold) };
      });
      if (isTold || isSuspended) return true;
    }
    return false;
  }
}
