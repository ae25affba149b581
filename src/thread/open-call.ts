// One call that is not over, and what each event makes of it.
import { create } from "@bufbuild/protobuf";
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
import type { EveryField } from "./every-field.js";
import { durationBetween } from "./time.js";
import { type CallState, callStep, callTransitions, wireState } from "./tool-call.js";

/** A call that is not over. A value: replaced, never changed. */
export interface OpenCall {
  readonly state: CallState;
  /** As GetToolCall shows it, without its bodies. */
  readonly call: ToolCall;
  readonly contents: readonly OpenContent[];
  /** The client's hold on it. Undefined until one has claimed it. */
  readonly claim?: ClaimDocument | undefined;
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
  const call = copyOf({
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
  });
  call.createTime = event.time;
  return copyOfOpen({ state: "created", call, contents: [], outputBytes: {}, inputDeltaBytes: 0 });
}

function copyOf(call: ToolCall): EveryField<ToolCall> {
  return {
    $typeName: call.$typeName,
    id: call.id,
    threadId: call.threadId,
    runId: call.runId,
    toolName: call.toolName,
    title: call.title,
    kind: call.kind,
    source: call.source,
    executor: call.executor,
    state: call.state,
    outcome: call.outcome,
    startedSummary: call.startedSummary,
    completeSummary: call.completeSummary,
    error: call.error,
    locations: call.locations,
    contents: call.contents,
    createTime: call.createTime,
    startTime: call.startTime,
    completeTime: call.completeTime,
    duration: call.duration,
    index: call.index,
    attempt: call.attempt,
    parentToolCallId: call.parentToolCallId,
    childThreadId: call.childThreadId,
    createdSequence: call.createdSequence,
    completedSequence: call.completedSequence,
    outputBytes: call.outputBytes,
    exitCode: call.exitCode,
    approval: call.approval,
    claim: call.claim,
    providerCallId: call.providerCallId,
    $unknown: call.$unknown,
  };
}

/** The same for what surrounds it. */
const copyOfOpen = ({ state, call, contents, claim, outputBytes, inputDeltaBytes }: OpenCall): Changing<OpenCall> => ({
  state,
  call,
  contents,
  claim,
  outputBytes,
  inputDeltaBytes,
});

type Changing<T> = { -readonly [Name in keyof T]: T[Name] };

/** The call with other contents. */
export function withContents(open: OpenCall, contents: readonly OpenContent[]): OpenCall {
  const next = copyOfOpen(open);
  next.contents = contents;
  return next;
}

/** The call with the provider's own id for it. */
export function withProviderCallId(open: OpenCall, providerCallId: string): OpenCall {
  const next = copyOfOpen(open);
  next.call = copyOf(open.call);
  next.call.providerCallId = providerCallId;
  return next;
}

/** The call with a client's hold on it. */
export function withClaim(open: OpenCall, claim: ClaimDocument): OpenCall {
  const next = copyOfOpen(open);
  next.claim = claim;
  return next;
}

type StepPayload = Exclude<CallPayload, { case: "toolCallCreated" }>;

export function afterStep(open: OpenCall, event: ThreadEvent, payload: StepPayload): OpenCall {
  const next = copyOfOpen(open);
  switch (payload.case) {
    case "toolCallTextDelta":
    case "toolCallProgress":
      return open;
    case "toolCallInputDelta":
      next.inputDeltaBytes += Buffer.byteLength(payload.value.text);
      return next;
    case "toolCallOutputDelta":
      next.outputBytes = addOutput(open, payload.value.stream, payload.value.text);
      return next;
  }
  const after = callTransitions[open.state][callStep(payload)];
  if (after !== "illegal") next.state = after;
  const call = copyOf(open.call);
  call.state = wireState[next.state];
  next.call = call;
  switch (payload.case) {
    case "toolCallInputCompleted":
      call.startedSummary = payload.value.summary;
      break;
    case "toolCallApprovalRequested":
      call.approval = asked(event, payload.value);
      break;
    case "toolCallApprovalResolved":
      call.approval = answered(open.call.approval, event, payload.value);
      break;
    case "toolCallClaimed":
      call.claim = claimed(open.call.claim, event, payload.value);
      break;
    case "toolCallStarted":
      call.startedSummary = payload.value.summary;
      call.executor = payload.value.executor;
      call.startTime = event.time;
      if (payload.value.executor === Executor.CLIENT) call.claim = offered(payload.value);
      break;
    case "toolCallComplete": {
      const { outcome, summary, error, locations, exitCode } = payload.value;
      call.outcome = outcome;
      call.completeSummary = summary;
      call.locations = locations;
      call.completedSequence = event.sequence;
      call.outputBytes = BigInt(totalOutput(open));
      call.error = error;
      call.exitCode = exitCode;
      call.duration = durationBetween(open.call.startTime, event.time);
      call.completeTime = event.time;
      break;
    }
  }
  return next;
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

export function totalOutput({ outputBytes }: OpenCall): number {
  let total = 0;
  for (const stream in outputBytes) total += outputBytes[stream]!;
  return total;
}

/** When a body can be read: the input with InputCompleted, a preview once it was shown or its time has passed, the rest at the end. */
export function isVisible(state: CallState, { role }: ContentInfo): boolean {
  if (role === ContentRole.INPUT) return state !== "created";
  if (role === ContentRole.PREVIEW) return state !== "created" && state !== "ready";
  return state === "over";
}
