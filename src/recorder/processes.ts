// The background processes of a thread, as its log knows them. They belong to the thread and not to a run, so that the thread's
// document carries them from ProcessStarted to ProcessExited; each gets exactly one of both, whatever happens.
import { create } from "@bufbuild/protobuf";
import { newEvent, type Payload, type ProcessPayload, type ThreadEvent } from "../thread/event.js";
import { limits } from "../thread/limits.js";
import { type ProcessDocument, ProcessDocumentSchema, ProcessOutcome, type ThreadDocument } from "../thread/schema.js";
import type { Violation } from "../thread/state.js";
import type { ThreadDraft, ThreadView } from "./thread-draft.js";

/** Why the event is not allowed where things stand; undefined when it is, or is about something else. */
export function processViolation({ payload, runId }: ThreadEvent, on: ThreadView): Violation | undefined {
  const { processes } = on.document;
  switch (payload.case) {
    case "processStarted":
      if (runId !== on.state.run?.runId) return { state: "", rule: "a process is started by a call of the open run" };
      if (processes.length < limits.processes) return undefined;
      return {
        state: "full",
        rule: `at most ${limits.processes} processes of a thread run at a time: stop some first`,
      };
    case "processExited": {
      const process = processOf(payload, on.document);
      if (!process) return { state: "unknown", rule: "no such process runs in this thread" };
      return process.runId === runId ? undefined : { state: "running", rule: `run_id must be ${process.runId}` };
    }
    default:
      return undefined;
  }
}

/** The process that an event is about. One that begins gets the next name. */
export function processOf(payload: Payload, { processes, processCount }: ThreadDocument): ProcessDocument | undefined {
  switch (payload.case) {
    case "processStarted":
      return create(ProcessDocumentSchema, { processId: `p${processCount + 1}` });
    case "processExited":
      return processes.find(({ processId }) => processId === payload.value.processId);
    default:
      return undefined;
  }
}

/** The thread's document after an event that is allowed and complete. */
export function processesAfter(
  { runId, time }: ThreadEvent,
  payload: ProcessPayload,
  { processes, processCount }: ThreadDocument,
): Pick<ThreadDocument, "processes"> & Partial<ThreadDocument> {
  const { processId } = payload.value;
  if (payload.case === "processExited")
    return { processes: processes.filter((process) => process.processId !== processId) };
  const { toolCallId, command } = payload.value;
  const started = create(ProcessDocumentSchema, {
    processId,
    toolCallId,
    runId,
    command,
    ...(time && { startTime: time }),
  });
  return { processes: [...processes, started], processCount: processCount + 1 };
}

/** Ends those that the last process left open. They were ended with it. */
export function interruptProcesses(draft: ThreadDraft): void {
  for (const { processId, runId } of draft.document.processes) {
    const value = { processId, outcome: ProcessOutcome.INTERRUPTED, summary: "Ended: the server stopped" };
    draft.record(newEvent({ runId, payload: { case: "processExited", value } }));
  }
}
