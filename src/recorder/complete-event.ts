// Makes a writer's event fit to be stored: what the server knows is filled in, what people read is cleaned (T5), what is
// secret is taken out. The event has been checked, and is allowed where things stand.
import { isCallPayload, type StoredPayload, type ThreadEvent } from "../thread/event.js";
import type { EveryField } from "../thread/every-field.js";
import { limits } from "../thread/limits.js";
import { type OpenCall, totalOutput } from "../thread/open-call.js";
import {
  ContentRole,
  Executor,
  OutputStream,
  PlanEntryStatus,
  RunOutcome,
  type ToolCallComplete,
  type ToolCallError,
  ToolCallOutcome,
  ToolKind,
  type ToolSource,
} from "../thread/schema.js";
import { cleanSummary, outcomeWords } from "../thread/summary.js";
import { durationBetween, now } from "../thread/time.js";
import { processOf } from "./processes.js";
import { redactedRequest } from "./request-echo.js";
import type { ThreadView } from "./thread-draft.js";

/** `on`: the thread as it stands before the event. */
export function completeEvent(draft: ThreadEvent, on: ThreadView): ThreadEvent {
  // Written out: every event passes here, and a copy of whatever shape came is many times slower.
  const event: ThreadEvent = {
    $typeName: draft.$typeName,
    threadId: on.threadId,
    sequence: on.head + 1n,
    time: draft.time ?? now(),
    runId: draft.runId,
    payload: draft.payload,
  };
  // The draft passed `eventFault`, so its payload is a stored one.
  event.payload = completed(draft.payload as StoredPayload, event, on);
  return event;
}

function completed(payload: StoredPayload, event: ThreadEvent, on: ThreadView): StoredPayload {
  const { redactions } = on;
  const call = isCallPayload(payload) ? on.state.calls.get(payload.value.toolCallId) : undefined;
  // Redacted before it is cleaned, for half a secret is not recognised once it is cut; and again when nothing hidden is left
  // in it, for a colour code may stand inside a secret.
  const cut = (text: string, units: number): string =>
    cleanSummary(redactions.whole(text), units, (cleaned) => redactions.whole(cleaned));
  const line = (text: string): string => cut(text, limits.summaryUnits);
  switch (payload.case) {
    case "runStarted": {
      const { model, requestId, request } = payload.value;
      const value = {
        ...payload.value,
        model: line(model),
        requestId: line(requestId),
        producer: on.document.lease?.producer ?? "",
      };
      if (request) value.request = redactedRequest(request, (text) => redactions.whole(text));
      return { case: payload.case, value };
    }
    case "runCompleted": {
      const { outcome, errorMessage, finishReason } = payload.value;
      const broke = outcome === RunOutcome.FAILED || outcome === RunOutcome.INTERRUPTED;
      const value = {
        ...payload.value,
        finishReason: line(finishReason),
        errorMessage: broke ? line(errorMessage) : "",
      };
      return { case: payload.case, value };
    }
    case "runSuspended":
    case "runResumed":
    case "messageCreated":
    case "reasoningCompleted":
      return payload;
    case "messageDelta":
    case "reasoningDelta":
    case "toolCallInputDelta":
    case "toolCallTextDelta":
      return { ...payload, value: { ...payload.value, text: redactions.piece(payload) } } as StoredPayload;
    case "messageCompleted": {
      const annotations = payload.value.annotations.map((note) => ({
        ...note,
        uri: redactions.whole(note.uri),
        title: line(note.title),
      }));
      const attachments = payload.value.attachments.map((image) => ({ ...image, url: redactions.whole(image.url) }));
      const refusal = redactions.whole(payload.value.refusal);
      return { case: payload.case, value: { ...payload.value, annotations, attachments, refusal } };
    }
    case "planUpdated": {
      const entries = payload.value.entries.map((entry) => ({
        ...entry,
        content: line(entry.content),
        status: entry.status || PlanEntryStatus.PENDING,
      }));
      return { case: payload.case, value: { ...payload.value, entries } };
    }
    case "toolCallCreated": {
      const { toolName, title, kind, source } = payload.value;
      const value = { ...payload.value, toolName: line(toolName), title: line(title) || line(toolName) };
      if (source) value.source = cleanSource(source, line);
      return { case: payload.case, value: { ...value, kind: ToolKind[kind] && kind ? kind : ToolKind.OTHER } };
    }
    case "toolCallInputCompleted": {
      const value = { ...payload.value, summary: line(payload.value.summary) || (call?.call.title ?? "") };
      const input = call && on.inputs.of(call.call.id);
      if (input) {
        value.inputBytes = BigInt(input.bytes);
        value.inputSha256 = input.sha256 as Uint8Array<ArrayBuffer>;
      }
      return { case: payload.case, value };
    }
    case "toolCallApprovalRequested": {
      const { summary, reason } = payload.value;
      return {
        case: payload.case,
        value: { ...payload.value, summary: line(summary) || startedSummary(call), reason: line(reason) },
      };
    }
    case "toolCallApprovalResolved": {
      const { reason, resolvedBy } = payload.value;
      return { case: payload.case, value: { ...payload.value, reason: line(reason), resolvedBy: line(resolvedBy) } };
    }
    case "toolCallStarted":
      return {
        case: payload.case,
        value: {
          ...payload.value,
          toolName: toolName(call),
          summary: line(payload.value.summary) || startedSummary(call),
          executor: payload.value.executor || Executor.SERVER,
        },
      };
    case "toolCallClaimed":
      return { case: payload.case, value: { ...payload.value, executorName: line(payload.value.executorName) } };
    case "toolCallProgress": {
      const elapsed = payload.value.elapsed ?? durationBetween(call?.call.startTime, event.time);
      return {
        case: payload.case,
        value: {
          ...payload.value,
          toolName: toolName(call),
          startedSummary: startedSummary(call),
          message: line(payload.value.message),
          ...(elapsed && { elapsed }),
        },
      };
    }
    case "toolCallOutputDelta": {
      const stream =
        OutputStream[payload.value.stream] && payload.value.stream ? payload.value.stream : OutputStream.STDOUT;
      const offset = BigInt(call?.outputBytes[stream] ?? 0);
      const text = redactions.piece({ ...payload, value: { ...payload.value, stream } });
      return { case: payload.case, value: { ...payload.value, stream, offset, text } };
    }
    case "toolCallComplete":
      return { case: payload.case, value: completedEnd(payload.value, event, { call, line, cut }) };
    case "toolDiscoveryStarted":
      return { case: payload.case, value: { ...payload.value, serverLabel: line(payload.value.serverLabel) } };
    case "toolDiscoveryComplete": {
      const { success, toolCount, errorMessage } = payload.value;
      const ending = success ? { toolCount, errorMessage: "" } : { toolCount: 0, errorMessage: line(errorMessage) };
      return {
        case: payload.case,
        value: { ...payload.value, ...ending, serverLabel: on.state.discoveries.get(payload.value.discoveryId) ?? "" },
      };
    }
    case "processStarted": {
      const processId = processOf(payload, on.document)?.processId ?? "";
      return { case: payload.case, value: { ...payload.value, processId, command: line(payload.value.command) } };
    }
    case "processExited": {
      const { toolCallId = "", startTime, command = "" } = processOf(payload, on.document) ?? {};
      const duration = durationBetween(startTime, event.time);
      const summary = line(payload.value.summary) || `Ended: ${command}`;
      return { case: payload.case, value: { ...payload.value, toolCallId, summary, ...(duration && { duration }) } };
    }
  }
}

interface Cleaning {
  readonly call: OpenCall | undefined;
  readonly line: (text: string) => string;
  readonly cut: (text: string, units: number) => string;
}

function completedEnd(
  end: ToolCallComplete,
  { time }: ThreadEvent,
  { call, line, cut }: Cleaning,
): EveryField<ToolCallComplete> {
  const result = call?.contents.find(({ info }) => info.role === ContentRole.RESULT);
  const { outcome, summary, error, locations, totalLocations, exitCode } = end;
  const success = outcome === ToolCallOutcome.SUCCEEDED;
  return {
    $typeName: end.$typeName,
    toolCallId: end.toolCallId,
    toolName: toolName(call),
    outcome,
    success,
    summary: line(summary) || outcomeWords(outcome),
    error: error && !success ? cleanError(error, cut) : undefined,
    duration: durationBetween(call?.call.startTime, time),
    locations: locations
      .slice(0, limits.locations)
      .map((place) => ({ ...place, path: cut(place.path, limits.pathUnits) })),
    totalLocations: Math.max(totalLocations, locations.length),
    resultBytes: result?.info.sizeBytes ?? 0n,
    outputBytes: BigInt(call ? totalOutput(call) : 0),
    exitCode,
    $unknown: end.$unknown,
  };
}

const cleanError = (error: ToolCallError, cut: (text: string, units: number) => string): ToolCallError => ({
  ...error,
  kind: cut(error.kind, 64),
  code: cut(error.code, 64),
  message: cut(error.message, limits.summaryUnits),
});

function cleanSource(source: ToolSource, line: (text: string) => string): ToolSource {
  switch (source.source.case) {
    case "mcp": {
      const { value } = source.source;
      const cleaned = { ...value, serverLabel: line(value.serverLabel), toolName: line(value.toolName) };
      return { ...source, source: { case: "mcp", value: cleaned } };
    }
    case "client": {
      const { value } = source.source;
      return { ...source, source: { case: "client", value: { ...value, name: line(value.name) } } };
    }
    default:
      return source;
  }
}

const toolName = (call: OpenCall | undefined): string => call?.call.toolName ?? "";

const startedSummary = (call: OpenCall | undefined): string => call?.call.startedSummary || (call?.call.title ?? "");
