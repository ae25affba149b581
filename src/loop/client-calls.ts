// The verbs of those who run calls for a run of Heddle's own: claim, report, write, complete. A claimed call is never offered again:
// a client that falls silent loses it, and it is over, interrupted.
import { fromBinary } from "@bufbuild/protobuf";
import type { EventLog, ThreadKey } from "../log/event-log.js";
import type { ThreadDraft } from "../recorder/thread-draft.js";
import { HeddleError, isError } from "../thread/errors.js";
import type { ToolCallId } from "../thread/ids.js";
import type { OpenCall } from "../thread/open-call.js";
import {
  type ClaimDocument,
  type ContentChunk,
  Executor,
  ToolCallDocumentSchema,
  ToolCallOutcome,
} from "../thread/schema.js";
import { durationMs, timestampMs } from "../thread/time.js";
import type { ActiveRuns } from "./active-runs.js";
import { stillRunning } from "./call-report.js";
import type { ClaimClocks } from "./claim-clocks.js";
import {
  type Claim,
  type Completion,
  claimCall,
  completeCall,
  heldCall,
  type Report,
  reportCall,
  writeContent,
} from "./claimed-call.js";
import { resultText } from "./conversation.js";
import { endOpenCall, resumeUnlessParked, stopParked } from "./parked.js";
import type { CallResult } from "./run-tool-call.js";
import { type Ending, spanWords } from "./stop.js";

export type { Claim, Completion, Report } from "./claimed-call.js";

interface ClientCallsParts {
  readonly log: EventLog;
  readonly active: ActiveRuns;
  readonly clocks: ClaimClocks;
  /** A client that says nothing for so long, and is there, gets a "still running". */
  readonly quietMs: number;
  readonly claimTimeoutMs: number;
  /** Whether a run with this model could go on here. */
  readonly isOffered: (model: string) => boolean;
  readonly onError: (error: unknown, key: ThreadKey) => void;
}

export class ClientCalls {
  readonly #parts: ClientCallsParts;

  constructor(parts: ClientCallsParts) {
    this.#parts = parts;
  }

  /** Resolves with the time at which the lease ends unless it is renewed. */
  async claim(key: ThreadKey, toolCallId: string, claim: Claim): Promise<number> {
    const { active, clocks } = this.#parts;
    let leaseMs = claim.leaseMs;
    await active.change(key, (draft) => {
      claimCall(draft, toolCallId, claim);
      const { duration } = heldCall(draft, toolCallId, claim.token);
      if (duration) leaseMs = durationMs(duration);
      return nothingStarted;
    });
    clocks.claimed(key, toolCallId, leaseMs);
    clocks.spoke(toolCallId);
    await clocks.during(toolCallId, async () => {});
    return Date.now() + leaseMs;
  }

  /** Resolves with the time at which the lease ends unless it is renewed. */
  async report(key: ThreadKey, toolCallId: string, { token, ...report }: Report & { token: string }): Promise<number> {
    return this.#heard(toolCallId, async () => {
      let leaseMs = 0;
      await this.#parts.active.change(key, (draft) => {
        leaseMs = leaseOf(heldCall(draft, toolCallId, token));
        reportCall(draft, toolCallId, this.#withSignOfLife(toolCallId, report));
        if (draft.frames.length > 0) this.#parts.clocks.spoke(toolCallId);
        return nothingStarted;
      });
      return Date.now() + leaseMs;
    });
  }

  /** Resolves with the bytes of the body that were taken so far. */
  async write(key: ThreadKey, chunk: ContentChunk, token: string): Promise<bigint> {
    return this.#heard(chunk.toolCallId, async () => {
      let sizeBytes = 0n;
      await this.#parts.active.change(key, (draft) => {
        heldCall(draft, chunk.toolCallId, token);
        sizeBytes = writeContent(draft, chunk);
        return nothingStarted;
      });
      return sizeBytes;
    });
  }

  /** Resolves once the end is stored. The run goes on when it waits for nothing else. */
  async complete(
    key: ThreadKey,
    toolCallId: string,
    { token, ...completion }: Completion & { token: string },
  ): Promise<void> {
    await this.#heard(toolCallId, () =>
      this.#end(key, toolCallId, (draft) => {
        heldCall(draft, toolCallId, token);
        completeCall(draft, toolCallId, completion);
      }),
    );
  }

  /** A run that was taken up again: its calls that clients run get a full term. */
  recover(key: ThreadKey, calls: Iterable<OpenCall>): void {
    for (const { call, state, claim } of calls) {
      if (call.executor !== Executor.CLIENT) continue;
      if (state === "offered" && call.claim?.expireTime)
        this.#parts.clocks.offered(key, call.id, timestampMs(call.claim.expireTime));
      if (state === "running") this.#parts.clocks.claimed(key, call.id, claim ? leaseOf(claim) : 0);
    }
  }

  /** Nobody claimed it. */
  async expireUnclaimed(key: ThreadKey, toolCallId: string): Promise<void> {
    await this.#giveUp(key, toolCallId, ({ state }) =>
      state === "offered" ? unclaimed(this.#parts.claimTimeoutMs) : undefined,
    );
  }

  /** Its client was not heard of. */
  async expireSilent(key: ThreadKey, toolCallId: string): Promise<void> {
    await this.#giveUp(key, toolCallId, ({ state, call }) =>
      state === "running" && this.#parts.clocks.isSilent(toolCallId)
        ? silent(call.claim?.executorName || "its executor")
        : undefined,
    );
  }

  async #giveUp(key: ThreadKey, toolCallId: string, ending: (open: OpenCall) => Ending | undefined): Promise<void> {
    try {
      await this.#end(key, toolCallId, (draft) => {
        const open = draft.state.calls.get(toolCallId);
        const end = open && !draft.document.lease ? ending(open) : undefined;
        if (!end) throw new HeddleError("tool_call_over", `Tool call ${toolCallId} does not wait any more`);
        endOpenCall(draft, toolCallId, end);
        const { run } = draft.document;
        if (end.error.kind === "unclaimed" && run?.options?.endWhenUnclaimed && draft.state.run?.suspended)
          stopParked(draft, { kind: "cancelled", reason: "nobody took a call" });
      });
    } catch (error) {
      if (isSettled(error)) return;
      this.#parts.onError(error, key);
      throw error;
    }
  }

  /** What is asked with a token is heard, whatever comes of it: while it waits its turn, its client is not silent. */
  #heard<Result>(toolCallId: string, work: () => Promise<Result>): Promise<Result> {
    return this.#parts.clocks.during(toolCallId, work);
  }

  async #end(key: ThreadKey, toolCallId: string, end: (draft: ThreadDraft) => void): Promise<void> {
    const { active, clocks, log, onError } = this.#parts;
    const { runId, started } = await active.change(key, (draft) => {
      end(draft);
      const { runId, run } = draft.document;
      // One whose model is not offered here stays suspended: a server that has it goes on with what is recorded now.
      const started = this.#parts.isOffered(run?.options?.model ?? "") ? resumeUnlessParked(draft) : undefined;
      return { runId, started };
    });
    clocks.stop(toolCallId);
    // A run that was suspended finds the end in the log.
    const run = started ? undefined : active.get(runId);
    if (!run) return;
    const result = await resultOf(log, key, toolCallId).catch((error: unknown) => {
      onError(error, key);
      return unreadable; // Nobody may wait for ever for what cannot be read.
    });
    run.waits.answer(toolCallId, { kind: "ended", result });
  }

  /** An empty report of a client that has said nothing for long. */
  #withSignOfLife(toolCallId: string, report: Report): Report {
    const { clocks, quietMs } = this.#parts;
    const isQuiet = !report.progress && report.outputs.length === 0 && clocks.quietMs(toolCallId) >= quietMs;
    return isQuiet ? { ...report, progress: { message: stillRunning } } : report;
  }
}

const nothingStarted = { runId: "", started: undefined } as const;

const leaseOf = ({ duration }: ClaimDocument): number => (duration ? durationMs(duration) : 0);

/** There is nothing left to give up. */
const isSettled = (error: unknown): boolean =>
  (["tool_call_over", "thread_deleted", "thread_not_found"] as const).some((code) => isError(error, code));

const unclaimed = (waitedMs: number): Ending => {
  const message = `Nobody took the call within ${spanWords(waitedMs)}`;
  return { outcome: ToolCallOutcome.TIMED_OUT, summary: message, error: { kind: "unclaimed", message } };
};

const silent = (executorName: string): Ending => {
  const summary = `Interrupted: ${executorName} went silent`;
  const message = `${summary}. Whether it had an effect is not known`;
  return { outcome: ToolCallOutcome.INTERRUPTED, summary, error: { kind: "executor_lost", message } };
};

const unreadable: CallResult = { text: "The result cannot be read", isError: true, stopIteration: false };

/** As the log has it: the result may have come in pieces. */
async function resultOf(log: EventLog, { tenant, threadId }: ThreadKey, toolCallId: string): Promise<CallResult> {
  const id = toolCallId as ToolCallId;
  const found = await log.readCall(tenant, id);
  const call = found && fromBinary(ToolCallDocumentSchema, found.document).toolCall;
  const { outcome = ToolCallOutcome.INTERRUPTED, completeSummary: summary = "", error } = call ?? {};
  const text = await resultText(log, { tenant, threadId }, { id, outcome, summary, message: error?.message ?? "" });
  return { text, isError: outcome !== ToolCallOutcome.SUCCEEDED, stopIteration: false };
}
