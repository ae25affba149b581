// One run from where the log says it stands to its end, recorded.
import type { EventLog } from "../log/event-log.js";
import { ModelError } from "../model/model.js";
import { type RunDocument, RunOutcome } from "../thread/schema.js";
import { cleanSummary } from "../thread/summary.js";
import { durationMs, timestampMs } from "../thread/time.js";
import { readConversation } from "./conversation.js";
import { discoverTools } from "./discover-tools.js";
import type { Run } from "./run.js";
import { runTurn } from "./run-turn.js";
import { Stopped } from "./stop.js";
import { endOfStopped, type RunEnd, stoppedByTool } from "./turn-end.js";
import { unfinishedReply } from "./unfinished-reply.js";

interface DriveOptions {
  readonly log: EventLog;
  readonly document: RunDocument;
}

/** Throws only what is neither the model's nor a tool's fault. */
export async function driveRun(run: Run, { log, document }: DriveOptions): Promise<void> {
  const end = await work(run, log, document);
  await run.stored();
  // It waits for somebody outside.
  if (!end) return;
  // What the server's end cuts off is gone on with at its next start.
  if (run.stopped?.kind === "server_stopping" && run.staysOpen && end.outcome === RunOutcome.INTERRUPTED) return;
  const finishReason = cleanSummary(end.finishReason, finishReasonUnits);
  await run.recorder.record({
    case: "runCompleted",
    value: { ...end, finishReason, ...(run.usage && { usage: run.usage }) },
  });
}

/** What RunCompleted takes. A provider's own word may be longer. */
const finishReasonUnits = 64;

async function work(run: Run, log: EventLog, document: RunDocument): Promise<RunEnd | undefined> {
  const timer = startTimer(run, document);
  try {
    const { messages, isAnswered, unfinished } = await readConversation(log, run.key);
    run.messages.push(...messages);
    if (unfinished) {
      await discoverTools(run); // What its calls are is known only with their tools.
      return await runTurn(run, unfinishedReply(run, unfinished, document));
    }
    if (document.stoppedByTool) return stoppedByTool;
    // It had said all, and only its end was missing.
    if (isAnswered) return endOfAnswer(document);
    return await runTurn(run);
  } catch (error) {
    const isModels = error instanceof ModelError;
    if (run.stopped && (isModels || error instanceof Stopped)) return endOfStopped(run.stopped);
    if (isModels) return { outcome: RunOutcome.FAILED, finishReason: error.kind, errorMessage: error.message };
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** The time that it was suspended does not count. */
function startTimer(run: Run, { options, startTime, suspended }: RunDocument): NodeJS.Timeout | undefined {
  if (!options?.timeLimit) return undefined;
  const limitMs = durationMs(options.timeLimit);
  const waitedMs = suspended ? durationMs(suspended) : 0;
  const elapsedMs = startTime ? Date.now() - timestampMs(startTime) - waitedMs : 0;
  const leftMs = Math.max(0, limitMs - elapsedMs);
  run.endsMs = performance.now() + leftMs;
  return setTimeout(() => run.stop({ kind: "run_timeout", limitMs }), leftMs);
}

/** Runs of an older version did not keep it. */
function endOfAnswer({ answered }: RunDocument): RunEnd {
  const { outcome = RunOutcome.SUCCEEDED, finishReason = "stop" } = answered ?? {};
  return { outcome, finishReason };
}
