// One call that is not over, and what each event makes of it.
import { create } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ClaimDocument } from "../../gen/heddle/storage/v1/storage_pb.js";
import { type ContentInfo, ContentRole } from "../../gen/heddle/v1/content_pb.js";
import { type OutputStream, ToolCallApprovalResolved_Decision } from "../../gen/heddle/v1/event_pb.js";
import {
  Executor,
  type ToolCall,
  type ToolCallApproval,
  ToolCallApprovalSchema,
  type ToolCallClaim,
  ToolCallClaimSchema,
  ToolCallOutcome,
  ToolSourceSchema,
} from "../../gen/heddle/v1/tool_call_pb.js";
import type { CallPayload, ThreadEvent } from "./event.js";
import { durationBetween } from "./time.js";
import { type CallState, callStep, callTransitions, wireState } from "./tool-call.js";

/** A call that is not over. A value: replaced, never changed. */
export interface OpenCall {
  readonly state: CallState;
  /** As GetToolCall shows it, without its bodies. */
  readonly call: ToolCall;
  readonly contents: readonly OpenContent[];
  /** The client's hold on it. Undefined until one has claimed it. */
  readonly claim?: ClaimDocument;
  /** UTF-8 bytes stored per output stream. */
  readonly outputBytes: Readonly<Record<number, number>>;
  /** UTF-8 bytes of input stored as deltas. */
  readonly inputDeltaBytes: number;
}

export interface OpenContent {
  readonly info: ContentInfo;
  readonly receivedBytes: number;
}

type Created = Extract<CallPayload, { case: "toolCallCreated" }>["value"];

export function createdCall(event: ThreadEvent, created: Created): OpenCall {
  const { toolCallId, toolName, title, kind, source, index, attempt, parentToolCallId, childThreadId } = created;
  // Written out: an object that `create` makes of so many fields is a hundred times slower to copy, and each event copies it.
  const call: ToolCall = {
    $typeName: "heddle.v1.ToolCall",
    id: toolCallId,
    threadId: event.threadId,
    runId: event.runId,
    toolName,
    title,
    kind,
    source: source ?? create(ToolSourceSchema),
    executor: Executor.UNSPECIFIED,
    state: wireState.created,
    outcome: ToolCallOutcome.UNSPECIFIED,
    startedSummary: "",
    completeSummary: "",
    locations: [],
    contents: [],
    index,
    attempt,
    parentToolCallId,
    childThreadId,
    createdSequence: event.sequence,
    completedSequence: 0n,
    outputBytes: 0n,
    providerCallId: "",
    ...withTime("createTime", event.time),
  };
  return { state: "created", call, contents: [], outputBytes: {}, inputDeltaBytes: 0 };
}

type StepPayload = Exclude<CallPayload, { case: "toolCallCreated" }>;

export function afterStep(open: OpenCall, event: ThreadEvent, payload: StepPayload): OpenCall {
  const next = callTransitions[open.state][callStep(payload)];
  const state = next === "illegal" ? open.state : next;
  const moved = (changes: Partial<ToolCall>): OpenCall => ({
    ...open,
    state,
    call: { ...open.call, state: wireState[state], ...changes },
  });
  switch (payload.case) {
    case "toolCallInputDelta":
      return { ...open, inputDeltaBytes: open.inputDeltaBytes + Buffer.byteLength(payload.value.text) };
    case "toolCallTextDelta":
    case "toolCallProgress":
      return open;
    case "toolCallOutputDelta":
      return { ...open, outputBytes: addOutput(open, payload.value.stream, payload.value.text) };
    case "toolCallInputCompleted":
      return moved({ startedSummary: payload.value.summary });
    case "toolCallApprovalRequested":
      return moved({ approval: asked(event, payload.value) });
    case "toolCallApprovalResolved":
      return moved({ approval: answered(open.call.approval, event, payload.value) });
    case "toolCallClaimed":
      return moved({ claim: claimed(open.call.claim, event, payload.value) });
    case "toolCallStarted":
      return moved({
        startedSummary: payload.value.summary,
        executor: payload.value.executor,
        ...withTime("startTime", event.time),
        ...(payload.value.executor === Executor.CLIENT && { claim: offered(payload.value) }),
      });
    case "toolCallComplete": {
      const { outcome, summary, error, locations, exitCode } = payload.value;
      const duration = durationBetween(open.call.startTime, event.time);
      return moved({
        outcome,
        completeSummary: summary,
        locations,
        completedSequence: event.sequence,
        outputBytes: BigInt(totalOutput(open)),
        ...(error && { error }),
        ...(exitCode !== undefined && { exitCode }),
        ...(duration && { duration }),
        ...withTime("completeTime", event.time),
      });
    }
  }
}

type Requested = Extract<StepPayload, { case: "toolCallApprovalRequested" }>["value"];
type Resolved = Extract<StepPayload, { case: "toolCallApprovalResolved" }>["value"];

const asked = ({ time }: ThreadEvent, { reason, approvalSha256, expireTime }: Requested): ToolCallApproval => ({
  ...create(ToolCallApprovalSchema, { reason, approvalSha256 }),
  ...(time && { requestTime: time }),
  ...(expireTime && { expireTime }),
});

const answered = (
  question: ToolCallApproval | undefined,
  { time }: ThreadEvent,
  { decision, reason, resolvedBy }: Resolved,
): ToolCallApproval => ({
  ...(question ?? create(ToolCallApprovalSchema)),
  allowed: decision === ToolCallApprovalResolved_Decision.ALLOWED,
  resolveReason: reason,
  resolvedBy,
  ...(time && { resolveTime: time }),
});

type Started = Extract<StepPayload, { case: "toolCallStarted" }>["value"];
type Claimed = Extract<StepPayload, { case: "toolCallClaimed" }>["value"];

const offered = ({ claimExpireTime }: Started): ToolCallClaim => ({
  ...create(ToolCallClaimSchema),
  ...(claimExpireTime && { expireTime: claimExpireTime }),
});

const claimed = (
  offer: ToolCallClaim | undefined,
  { time }: ThreadEvent,
  { executorName }: Claimed,
): ToolCallClaim => ({
  ...(offer ?? create(ToolCallClaimSchema)),
  executorName,
  ...(time && { claimTime: time }),
});

const addOutput = (open: OpenCall, stream: OutputStream, text: string): Record<number, number> => ({
  ...open.outputBytes,
  [stream]: (open.outputBytes[stream] ?? 0) + Buffer.byteLength(text),
});

export const totalOutput = (open: OpenCall): number =>
  Object.values(open.outputBytes).reduce((sum, bytes) => sum + bytes, 0);

/** When a body can be read: the input with InputCompleted, a preview once it was shown or its time has passed, the rest at the end. */
export function isVisible(state: CallState, { role }: ContentInfo): boolean {
  if (role === ContentRole.INPUT) return state !== "created";
  if (role === ContentRole.PREVIEW) return state !== "created" && state !== "ready";
  return state === "over";
}

function withTime<Name extends "createTime" | "startTime" | "completeTime">(name: Name, time: Timestamp | undefined) {
  return (time ? { [name]: time } : {}) as Partial<Pick<ToolCall, Name>>;
}
