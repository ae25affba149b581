// Where a tool call can stand, what can happen to it, and where that leads (T2). The table is total: a missing cell does
// not compile. ARCHITECTURE.md draws it.
import { ToolCallApprovalResolved_Decision as Decision } from "../../gen/heddle/v1/event_pb.js";
import { Executor, ToolCallOutcome as Outcome, ToolCallState } from "../../gen/heddle/v1/tool_call_pb.js";
import type { CallPayload } from "./event.js";

export type CallState =
  | "created"
  | "ready"
  | "awaiting_approval"
  | "approved"
  | "refused"
  | "offered"
  | "running"
  | "over";

/** What an event does to a call. Some events do different things by what they carry. */
export type CallStep =
  | "input_delta"
  | "text_delta"
  | "input_completed"
  | "approval_requested"
  | "approval_allowed"
  | "approval_refused"
  | "started"
  | "started_for_client"
  | "claimed"
  | "progress"
  | "output_delta"
  /** Succeeded or failed: it must have run. */
  | "ended_after_running"
  /** Denied, rejected or discarded: it must not have run. */
  | "ended_without_running"
  /** Cancelled, timed out or interrupted: at any time. */
  | "ended";

type Next = CallState | "illegal";

const nothing = {
  input_delta: "illegal",
  text_delta: "illegal",
  input_completed: "illegal",
  approval_requested: "illegal",
  approval_allowed: "illegal",
  approval_refused: "illegal",
  started: "illegal",
  started_for_client: "illegal",
  claimed: "illegal",
  progress: "illegal",
  output_delta: "illegal",
  ended_after_running: "illegal",
  ended_without_running: "illegal",
  ended: "illegal",
} as const satisfies Record<CallStep, Next>;

export const callTransitions: Readonly<Record<CallState, Readonly<Record<CallStep, Next>>>> = {
  created: {
    ...nothing,
    input_delta: "created",
    text_delta: "created",
    input_completed: "ready",
    ended_without_running: "over",
    ended: "over",
  },
  ready: {
    ...nothing,
    approval_requested: "awaiting_approval",
    started: "running",
    started_for_client: "offered",
    ended_without_running: "over",
    ended: "over",
  },
  awaiting_approval: {
    ...nothing,
    approval_allowed: "approved",
    approval_refused: "refused",
    ended_without_running: "over",
    ended: "over",
  },
  approved: {
    ...nothing,
    started: "running",
    started_for_client: "offered",
    ended_without_running: "over",
    ended: "over",
  },
  refused: { ...nothing, ended_without_running: "over", ended: "over" },
  offered: { ...nothing, claimed: "running", progress: "offered", ended: "over" },
  running: {
    ...nothing,
    progress: "running",
    output_delta: "running",
    ended_after_running: "over",
    ended: "over",
  },
  over: nothing,
};

const endings: Readonly<Record<Outcome, CallStep>> = {
  [Outcome.UNSPECIFIED]: "ended",
  [Outcome.SUCCEEDED]: "ended_after_running",
  [Outcome.FAILED]: "ended_after_running",
  [Outcome.DENIED]: "ended_without_running",
  [Outcome.REJECTED]: "ended_without_running",
  [Outcome.DISCARDED]: "ended_without_running",
  [Outcome.CANCELLED]: "ended",
  [Outcome.TIMED_OUT]: "ended",
  [Outcome.INTERRUPTED]: "ended",
};

/** What the event does to its call. Created makes one, and so does nothing to one. */
export function callStep(payload: Exclude<CallPayload, { case: "toolCallCreated" }>): CallStep {
  switch (payload.case) {
    case "toolCallInputDelta":
      return "input_delta";
    case "toolCallTextDelta":
      return "text_delta";
    case "toolCallInputCompleted":
      return "input_completed";
    case "toolCallApprovalRequested":
      return "approval_requested";
    case "toolCallApprovalResolved":
      return payload.value.decision === Decision.ALLOWED ? "approval_allowed" : "approval_refused";
    case "toolCallStarted":
      return payload.value.executor === Executor.CLIENT ? "started_for_client" : "started";
    case "toolCallClaimed":
      return "claimed";
    case "toolCallProgress":
      return "progress";
    case "toolCallOutputDelta":
      return "output_delta";
    case "toolCallComplete":
      return endings[payload.value.outcome] ?? "ended";
  }
}

/** The steps that are allowed from a state. */
export const allowedSteps = (state: CallState): CallStep[] =>
  (Object.keys(nothing) as CallStep[]).filter((step) => callTransitions[state][step] !== "illegal");

/** A step in the words of the schema, for an error that says what would have been right. */
export const stepWords: Readonly<Record<CallStep, string>> = {
  input_delta: "tool_call_input_delta",
  text_delta: "tool_call_text_delta",
  input_completed: "tool_call_input_completed",
  approval_requested: "tool_call_approval_requested",
  approval_allowed: "tool_call_approval_resolved (allowed)",
  approval_refused: "tool_call_approval_resolved (denied, expired)",
  started: "tool_call_started",
  started_for_client: "tool_call_started (for a client)",
  claimed: "tool_call_claimed",
  progress: "tool_call_progress",
  output_delta: "tool_call_output_delta",
  ended_after_running: "tool_call_complete (succeeded, failed)",
  ended_without_running: "tool_call_complete (denied, rejected, discarded)",
  ended: "tool_call_complete (cancelled, timed out, interrupted)",
};

export const wireState: Readonly<Record<CallState, ToolCallState>> = {
  created: ToolCallState.CREATED,
  ready: ToolCallState.READY,
  awaiting_approval: ToolCallState.AWAITING_APPROVAL,
  approved: ToolCallState.APPROVED,
  refused: ToolCallState.REFUSED,
  offered: ToolCallState.OFFERED,
  running: ToolCallState.RUNNING,
  over: ToolCallState.OVER,
};

const states = new Map(Object.entries(wireState).map(([state, wire]) => [wire, state as CallState]));

/** A state that a newer version stored is taken as `created`: nothing shows that is not complete. */
export const stateFromWire = (wire: ToolCallState): CallState => states.get(wire) ?? "created";
