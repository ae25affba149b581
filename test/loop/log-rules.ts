// What is true of every finished thread, whatever happened to it: T1–T5 and the rules of runs. Said here once more, in
// other words than those of the code that keeps them: a slip in the transition table must not excuse itself.
import { toBinary } from "@bufbuild/protobuf";
import { type CallPayload, isCallPayload, type ThreadEvent, ThreadEventSchema } from "../../src/thread/event.js";
import { isUuid } from "../../src/thread/ids.js";
import { limits } from "../../src/thread/limits.js";
import { ToolCallOutcome } from "../../src/thread/schema.js";
import { timestampMs } from "../../src/thread/time.js";
import { type CallEvents, type CallRecords, checkRecords, must } from "./call-records.js";

export interface Evidence {
  /** Every call as GetToolCall tells it: `readRecords`. */
  readonly records?: CallRecords;
  /** The fields whose decoded text is streamed, by tool. */
  readonly textFields?: Readonly<Record<string, readonly string[]>>;
}

/** Contract: all events of a thread without an open run, from the first on; and nothing in it looks like a secret. */
export function checkLog(events: readonly ThreadEvent[], { records, textFields = {} }: Evidence = {}): void {
  checkEnvelopes(events);
  checkRuns(events);
  checkSummaries(events);
  const calls = callsOf(events);
  for (const call of calls) checkCall(call);
  if (records) checkRecords(calls, { records, textFields });
}

function checkEnvelopes(events: readonly ThreadEvent[]): void {
  for (const [index, event] of events.entries()) {
    must(event.sequence === BigInt(index + 1), "L1: sequences are 1, 2, 3, …", event);
    must(event.threadId === events[0]!.threadId, "every event names its thread", event);
    must(isUuid(event.runId), "every event names its run by a UUID", event);
    must(event.time !== undefined, "every event has a time", event);
    must(event.payload.case !== undefined, "every event says what happened", event);
    const { value } = event.payload;
    must(value === undefined || !("text" in value) || value.text !== "", "a delta holds text", event);
    must(toBinary(ThreadEventSchema, event).length <= limits.eventBytes, "no event is over 64 KiB", event);
  }
}

/** One run at a time, everything within one, each thing begun once and ended once, and all of it before the run ends. */
function checkRuns(events: readonly ThreadEvent[]): void {
  const used = new Set<string>();
  const open = new Set<string>();
  let runId: string | undefined;
  let isSuspended = false;
  const begin = (id: string, event: ThreadEvent): void => {
    must(isUuid(id), "T3: ids are UUIDs", event);
    must(!used.has(id), "T3: an id is used once", event);
    used.add(id);
    open.add(id);
  };
  const goOn = (id: string, event: ThreadEvent): void => must(open.has(id), "T2: what it is about is open", event);
  const end = (id: string, event: ThreadEvent): void =>
    must(open.delete(id), "T1: everything that begins ends, and once", event);
  for (const event of events) {
    const { payload } = event;
    if (payload.case === "runStarted") {
      must(runId === undefined, "a run starts when the last one is over", event);
      must(!used.has(event.runId), "T3: a run's id is used once", event);
      used.add(event.runId);
      runId = event.runId;
      continue;
    }
    must(event.runId === runId, "every event belongs to the open run", event);
    if (isCallPayload(payload)) {
      const { toolCallId } = payload.value;
      if (payload.case === "toolCallCreated") begin(toolCallId, event);
      else if (payload.case === "toolCallComplete") end(toolCallId, event);
      else goOn(toolCallId, event);
      continue;
    }
    switch (payload.case) {
      case "messageCreated":
        begin(payload.value.messageId, event);
        break;
      case "messageDelta":
        goOn(payload.value.messageId, event);
        break;
      case "messageCompleted":
        end(payload.value.messageId, event);
        break;
      case "reasoningDelta":
        if (!open.has(payload.value.reasoningId)) begin(payload.value.reasoningId, event);
        break;
      case "reasoningCompleted":
        end(payload.value.reasoningId, event);
        break;
      case "runSuspended":
      case "runResumed":
        must(isSuspended === (payload.case === "runResumed"), "suspending and resuming alternate", event);
        isSuspended = !isSuspended;
        break;
      case "runCompleted":
        must(open.size === 0, "T1: a run ends after everything in it", event);
        runId = undefined;
        isSuspended = false;
        break;
    }
  }
  must(runId === undefined, "the last run is over");
}

function callsOf(events: readonly ThreadEvent[]): CallEvents[] {
  const calls = new Map<string, { id: string; toolName: string; events: (ThreadEvent & { payload: CallPayload })[] }>();
  for (const event of events) {
    const { payload } = event;
    if (!isCallPayload(payload)) continue;
    const id = payload.value.toolCallId;
    if (payload.case === "toolCallCreated") calls.set(id, { id, toolName: payload.value.toolName, events: [] });
    calls.get(id)!.events.push(event as ThreadEvent & { payload: CallPayload });
  }
  return [...calls.values()];
}

const letters: Readonly<Record<CallPayload["case"], string>> = {
  toolCallCreated: "C",
  toolCallInputDelta: "i",
  toolCallTextDelta: "t",
  toolCallInputCompleted: "D",
  toolCallApprovalRequested: "A",
  toolCallApprovalResolved: "R",
  toolCallStarted: "S",
  toolCallClaimed: "K",
  toolCallProgress: "p",
  toolCallOutputDelta: "o",
  toolCallComplete: "X",
};

/** The lifecycle: Complete may follow any of them, nothing follows Complete, and only what has started prints. */
const lifecycle = /^C[it]*(?:D(?:AR?)?(?:Sp*K?[po]*)?)?X$/;

const needsStart = new Set([ToolCallOutcome.SUCCEEDED, ToolCallOutcome.FAILED]);
const forbidsStart = new Set([ToolCallOutcome.DENIED, ToolCallOutcome.REJECTED, ToolCallOutcome.DISCARDED]);

function checkCall({ id, toolName, events }: CallEvents): void {
  const stages = events.map(({ payload }) => letters[payload.case]).join("");
  must(lifecycle.test(stages), `T1, T2: call ${id} of ${toolName} follows the lifecycle, not ${stages}`);
  const hasStarted = stages.includes("S");
  const written = new Map<number, number>();
  let time = Number.NEGATIVE_INFINITY;
  for (const event of events) {
    const { payload } = event;
    must(timestampMs(event.time!) >= time, "the times of a call do not go back", event);
    time = timestampMs(event.time!);
    switch (payload.case) {
      case "toolCallOutputDelta": {
        const { stream, offset, text } = payload.value;
        const before = written.get(stream) ?? 0;
        must(offset === BigInt(before), `an offset counts the bytes before it: ${before}`, event);
        written.set(stream, before + Buffer.byteLength(text));
        break;
      }
      case "toolCallProgress":
        for (const number of [payload.value.completed, payload.value.total])
          must(number === undefined || (Number.isFinite(number) && number >= 0), "progress is a finite number", event);
        must(payload.value.toolName === toolName, "every event of a call names its tool", event);
        break;
      case "toolCallStarted":
        must(payload.value.toolName === toolName, "every event of a call names its tool", event);
        break;
      case "toolCallComplete": {
        const { outcome, success, error, duration, outputBytes } = payload.value;
        must(payload.value.toolName === toolName, "every event of a call names its tool", event);
        must(outcome !== ToolCallOutcome.UNSPECIFIED, "T1: an end has an outcome", event);
        must(success === (outcome === ToolCallOutcome.SUCCEEDED), "T4: success is SUCCEEDED and nothing else", event);
        must(!needsStart.has(outcome) || hasStarted, "T4: what succeeded or failed has started", event);
        must(!forbidsStart.has(outcome) || !hasStarted, "T4: denied, rejected and discarded never started", event);
        must((error === undefined) === success, "what did not succeed says why, and nothing else does", event);
        must((duration !== undefined) === hasStarted, "what has started has a duration", event);
        const bytes = [...written.values()].reduce((sum, count) => sum + count, 0);
        must(outputBytes === BigInt(bytes), "the end counts the output", event);
        break;
      }
    }
  }
}

/** Lines for people, and whether they may be empty. */
function* summariesOf({ payload }: ThreadEvent): Generator<{ line: string; mayBeEmpty: boolean }> {
  const needed = (line: string) => ({ line, mayBeEmpty: false });
  const optional = (line: string) => ({ line, mayBeEmpty: true });
  switch (payload.case) {
    case "toolCallCreated":
      yield needed(payload.value.toolName);
      yield needed(payload.value.title);
      break;
    case "toolCallInputCompleted":
    case "toolCallApprovalRequested":
    case "toolCallStarted":
      yield needed(payload.value.summary);
      break;
    case "toolCallProgress":
      yield needed(payload.value.startedSummary);
      yield optional(payload.value.message);
      break;
    case "toolCallComplete":
      yield needed(payload.value.summary);
      if (payload.value.error) yield needed(payload.value.error.message);
      yield optional(payload.value.error?.kind ?? "");
      yield optional(payload.value.error?.code ?? "");
      break;
    case "runCompleted":
      yield optional(payload.value.errorMessage);
      yield optional(payload.value.finishReason);
      break;
  }
}

/** Controls with line breaks, line and paragraph separators, and whatever turns the direction of text. */
const breaksALine = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\p{Bidi_Control}]/u;

function checkSummaries(events: readonly ThreadEvent[]): void {
  for (const event of events)
    for (const { line, mayBeEmpty } of summariesOf(event)) {
      must(line.length <= limits.summaryUnits, "T5: a summary has at most 200 UTF-16 units", event);
      must(!breaksALine.test(line), `T5: a summary is one clean line, not ${JSON.stringify(line)}`, event);
      must(line === line.trim(), "T5: a summary has no space around it", event);
      must(mayBeEmpty || line !== "", "T5: a summary says something", event);
    }
}
