// What an event must be like whatever has happened before: ids that are UUIDs, enums that are set, texts within bounds.
// Whether it may come now is the transition table's business (thread/state.ts).
import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import { isStored, type StoredPayload, type ThreadEvent } from "../thread/event.js";
import { isUuid } from "../thread/ids.js";
import { isDetail } from "../thread/images.js";
import { limits } from "../thread/limits.js";
import {
  ApprovalDecision,
  type Attachment,
  ProcessOutcome,
  Role,
  RunOutcome,
  SuspendReason,
  TextPurpose,
  ToolCallOutcome,
} from "../thread/schema.js";
import { cleanSummary } from "../thread/summary.js";
import { isSpan, isTimestamp } from "../thread/time.js";
import { requestFault } from "./request-echo.js";

/** What is wrong with the event, in words that say what would be right; undefined when nothing is. */
export function eventFault(event: ThreadEvent, threadId: string): string | undefined {
  if (event.sequence !== 0n) return "sequence is set by the server: leave it 0";
  if (event.threadId !== "" && event.threadId !== threadId) return `thread_id must be empty or ${threadId}`;
  if (event.time && !isTimestamp(event.time)) return "time must be in the years 1 to 9999";
  if (!isUuid(event.runId)) return "run_id must be a UUID in lower case with hyphens";
  if (event.payload.case === undefined) return "payload must be set to a case that this server knows";
  if (!isStored(event.payload)) return "control frames cannot be recorded";
  return fault(event.payload) || undefined;
}

type Rule = string | false | undefined;

/** The first that is broken by one of many. */
function ofEach<Value>(values: readonly Value[], rule: (value: Value) => Rule): Rule {
  for (const value of values) {
    const found = rule(value);
    if (found) return found;
  }
  return undefined;
}

const id = (value: string, field: string): Rule =>
  !isUuid(value) && `${field} must be a UUID in lower case with hyphens`;
const optionalId = (value: string, field: string): Rule => value !== "" && id(value, field);
/** A value that this server knows, and not the unspecified one. */
const chosen = (value: number, words: Readonly<Record<number, string>>, field: string): Rule =>
  (value === 0 || words[value] === undefined) && `${field} must be set to a value that this server knows`;
const atMost = (count: number, max: number, field: string): Rule =>
  count > max && `${field} may have at most ${max} entries`;
const delta = (text: string): Rule =>
  text.length * 3 > limits.deltaBytes &&
  Buffer.byteLength(text) > limits.deltaBytes &&
  `text may have at most ${limits.deltaBytes} bytes: send it in several deltas`;
const units = (text: string, max: number, field: string): Rule =>
  text.length > max && `${field} may have at most ${max} UTF-16 units`;
const hash = (bytes: Uint8Array, field: string): Rule =>
  bytes.length !== 0 && bytes.length !== 32 && `${field} must be empty or 32 bytes`;
const amount = (value: number | undefined, field: string): Rule =>
  value !== undefined && !(Number.isFinite(value) && value >= 0) && `${field} must be a finite number, not negative`;

/** Kept with the message, or a URL. */
const attachmentFault = ({ contentId, url, detail }: Attachment): Rule =>
  (contentId === "") === (url === "")
    ? "attachments must have either a url or a content_id"
    : units(url, limits.images.urlUnits, "attachments.url") ||
      (!isDetail(detail) && "attachments.detail must be low, high, auto or empty");

const time = (value: Timestamp | undefined, field: string): Rule =>
  value !== undefined && !isTimestamp(value) && `${field} must be in the years 1 to 9999`;
const span = (value: Duration | undefined, field: string): Rule =>
  value !== undefined && !isSpan(value) && `${field} must be a span of time that is not negative`;
const name = (value: string, field: string): Rule =>
  cleanSummary(value) === "" && `${field} must have visible characters`;

/** The first rule that is broken. */
function fault(payload: StoredPayload): Rule {
  switch (payload.case) {
    case "runStarted": {
      const { model, requestId, request } = payload.value;
      return units(model, 200, "model") || units(requestId, 200, "request_id") || requestFault(request);
    }
    case "runSuspended": {
      const { reason, openToolCallIds } = payload.value;
      return (
        chosen(reason, SuspendReason, "reason") ||
        atMost(openToolCallIds.length, limits.openCallIds, "open_tool_call_ids") ||
        ofEach(openToolCallIds, (callId) => id(callId, "open_tool_call_ids"))
      );
    }
    case "runResumed":
      return undefined;
    case "runCompleted":
      return (
        chosen(payload.value.outcome, RunOutcome, "outcome") || units(payload.value.finishReason, 64, "finish_reason")
      );
    case "messageCreated":
      return id(payload.value.messageId, "message_id") || chosen(payload.value.role, Role, "role");
    case "messageDelta":
      return id(payload.value.messageId, "message_id") || delta(payload.value.text);
    case "messageCompleted": {
      const { annotations, messageId, refusal, attachments } = payload.value;
      return (
        id(messageId, "message_id") ||
        atMost(annotations.length, limits.annotations, "annotations") ||
        (Buffer.byteLength(refusal) > limits.refusalBytes && `refusal may have at most ${limits.refusalBytes} bytes`) ||
        ofEach(annotations, ({ uri }) => units(uri, 2048, "annotations.uri")) ||
        atMost(attachments.length, limits.images.perMessage, "attachments") ||
        ofEach(attachments, attachmentFault) ||
        ofEach(
          annotations,
          ({ startIndex, endIndex }) => endIndex < startIndex && "annotations.end_index must not be before start_index",
        )
      );
    }
    case "reasoningDelta":
      return id(payload.value.reasoningId, "reasoning_id") || delta(payload.value.text);
    case "reasoningCompleted":
      return id(payload.value.reasoningId, "reasoning_id");
    case "planUpdated":
      return atMost(payload.value.entries.length, limits.planEntries, "entries");
    case "toolCallCreated": {
      const { toolCallId, toolName, source, parentToolCallId, childThreadId } = payload.value;
      return (
        id(toolCallId, "tool_call_id") ||
        name(toolName, "tool_name") ||
        units(toolName, 200, "tool_name") ||
        optionalId(parentToolCallId, "parent_tool_call_id") ||
        optionalId(childThreadId, "child_thread_id") ||
        (source?.source.case === "mcp" &&
          (name(source.source.value.serverLabel, "source.mcp.server_label") ||
            name(source.source.value.toolName, "source.mcp.tool_name")))
      );
    }
    case "toolCallInputDelta":
      return id(payload.value.toolCallId, "tool_call_id") || delta(payload.value.text);
    case "toolCallTextDelta": {
      const { toolCallId, purpose, field, text } = payload.value;
      return (
        id(toolCallId, "tool_call_id") ||
        chosen(purpose, TextPurpose, "purpose") ||
        units(field, 64, "field") ||
        delta(text)
      );
    }
    case "toolCallInputCompleted":
      return id(payload.value.toolCallId, "tool_call_id") || hash(payload.value.inputSha256, "input_sha256");
    case "toolCallApprovalRequested": {
      const { toolCallId, approvalSha256, expireTime } = payload.value;
      return (
        id(toolCallId, "tool_call_id") || hash(approvalSha256, "approval_sha256") || time(expireTime, "expire_time")
      );
    }
    case "toolCallApprovalResolved":
      return (
        id(payload.value.toolCallId, "tool_call_id") || chosen(payload.value.decision, ApprovalDecision, "decision")
      );
    case "toolCallStarted":
      return id(payload.value.toolCallId, "tool_call_id");
    case "toolCallClaimed":
      return id(payload.value.toolCallId, "tool_call_id") || time(payload.value.leaseExpireTime, "lease_expire_time");
    case "toolCallProgress": {
      const { toolCallId, completed, total, elapsed } = payload.value;
      return (
        id(toolCallId, "tool_call_id") ||
        amount(completed, "completed") ||
        amount(total, "total") ||
        span(elapsed, "elapsed")
      );
    }
    case "toolCallOutputDelta": {
      const { toolCallId, offset, text } = payload.value;
      return (
        id(toolCallId, "tool_call_id") || (offset !== 0n && "offset is set by the server: leave it 0") || delta(text)
      );
    }
    case "toolCallComplete":
      return id(payload.value.toolCallId, "tool_call_id") || chosen(payload.value.outcome, ToolCallOutcome, "outcome");
    case "toolDiscoveryStarted":
    case "toolDiscoveryComplete":
      return id(payload.value.discoveryId, "discovery_id");
    case "processStarted":
      return id(payload.value.toolCallId, "tool_call_id") || name(payload.value.command, "command");
    case "processExited":
      return chosen(payload.value.outcome, ProcessOutcome, "outcome");
  }
}
