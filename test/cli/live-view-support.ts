// Events of a run, numbered and timed, and what the live view makes of them.
import { durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import { Role, RunOutcome, TextPurpose } from "../../gen/heddle/v1/event_pb.js";
import { ToolCallOutcome, ToolKind } from "../../gen/heddle/v1/tool_call_pb.js";
import { newEvent, type ThreadEventInit } from "../../src/thread/event.js";

type Payload = NonNullable<ThreadEventInit["payload"]>;

export const threadId = "7b0f2c4e-5a36-4d0e-9c3f-2f6f2b7b9a10";
export const runId = "11111111-1111-4111-8111-111111111111";

let sequence = 0n;

/** `atMs` after the run's start. */
export const at = (atMs: number, payload: Payload): StreamThreadEventsResponse =>
  newEvent({ threadId, runId, sequence: ++sequence, time: timestampFromMs(1_700_000_000_000 + atMs), payload });

export const event = (payload: Payload): StreamThreadEventsResponse => at(0, payload);

export const started = (model = "demo:demo") => event({ case: "runStarted", value: { model } });
export const runEnd = (outcome = RunOutcome.SUCCEEDED, rest: object = {}) =>
  at(2_100, {
    case: "runCompleted",
    value: { outcome, usage: { inputTokens: 512n, outputTokens: 80n }, finishReason: "stop", ...rest },
  });
export const message = (messageId: string, role = Role.ASSISTANT) =>
  event({ case: "messageCreated", value: { messageId, role } });
export const says = (messageId: string, text: string) => event({ case: "messageDelta", value: { messageId, text } });
export const said = (messageId: string, rest: object = {}) =>
  event({ case: "messageCompleted", value: { messageId, ...rest } });
export const thinks = (reasoningId: string, text: string) =>
  event({ case: "reasoningDelta", value: { reasoningId, text } });
export const named = (toolCallId: string, title: string, rest: object = {}) =>
  event({ case: "toolCallCreated", value: { toolCallId, toolName: "tool", title, kind: ToolKind.OTHER, ...rest } });
export const writes = (toolCallId: string, text: string) =>
  event({ case: "toolCallInputDelta", value: { toolCallId, text } });
export const ready = (toolCallId: string, summary: string) =>
  event({ case: "toolCallInputCompleted", value: { toolCallId, summary } });
export const running = (toolCallId: string, summary: string, rest: object = {}) =>
  event({ case: "toolCallStarted", value: { toolCallId, toolName: "tool", summary, ...rest } });
export const prints = (toolCallId: string, text: string) =>
  event({ case: "toolCallOutputDelta", value: { toolCallId, text } });
export const progress = (toolCallId: string, value: object) =>
  event({ case: "toolCallProgress", value: { toolCallId, ...value } });
export const speaks = (toolCallId: string, text: string, purpose = TextPurpose.SPEECH) =>
  event({ case: "toolCallTextDelta", value: { toolCallId, field: "message", purpose, text } });
export const over = (toolCallId: string, summary: string, outcome = ToolCallOutcome.SUCCEEDED, rest: object = {}) =>
  event({
    case: "toolCallComplete",
    value: {
      toolCallId,
      toolName: "tool",
      outcome,
      success: outcome === ToolCallOutcome.SUCCEEDED,
      summary,
      duration: durationFromMs(8),
      ...rest,
    },
  });
