// T2: the transition table.
import { describe, expect, test } from "vitest";
import { ToolCallApprovalResolved_Decision as Decision } from "../../gen/heddle/v1/event_pb.js";
import { Executor, ToolCallOutcome } from "../../gen/heddle/v1/tool_call_pb.js";
import { isCallPayload, newEvent, type ThreadEventInit } from "../../src/thread/event.js";
import {
  allowedSteps,
  type CallState,
  callStep,
  callTransitions,
  stateFromWire,
  wireState,
} from "../../src/thread/tool-call.js";

const toolCallId = "2f0c1b6e-1111-4a6b-8f11-000000000001";
const states = Object.keys(callTransitions) as CallState[];

function stepOf(payload: NonNullable<ThreadEventInit["payload"]>) {
  const event = newEvent({ payload });
  if (!isCallPayload(event.payload) || event.payload.case === "toolCallCreated") throw new Error("not a step");
  return callStep(event.payload);
}

describe("T2: the transition table", () => {
  test("nothing follows the end", () => {
    expect(allowedSteps("over")).toEqual([]);
  });

  test("every state but the last can be cancelled, timed out or interrupted", () => {
    for (const state of states.filter((state) => state !== "over")) expect(callTransitions[state].ended).toBe("over");
  });

  test("no stage goes backwards", () => {
    const rank: Record<CallState, number> = {
      created: 0,
      ready: 1,
      awaiting_approval: 2,
      approved: 3,
      refused: 3,
      offered: 4,
      running: 5,
      over: 6,
    };
    for (const state of states) {
      for (const next of Object.values(callTransitions[state])) {
        if (next !== "illegal") expect(rank[next], `${state} → ${next}`).toBeGreaterThanOrEqual(rank[state]);
      }
    }
  });

  test("T4: a denied or rejected call never starts, a started one is never denied, and only a started one succeeds or fails", () => {
    expect(allowedSteps("refused").filter((step) => step.startsWith("started"))).toEqual([]);
    for (const state of ["offered", "running"] as const)
      expect(callTransitions[state].ended_without_running).toBe("illegal");
    for (const state of ["created", "ready", "awaiting_approval", "approved", "refused"] as const) {
      expect(callTransitions[state].ended_after_running, state).toBe("illegal");
    }
  });

  test("only a running call prints", () => {
    expect(states.filter((state) => callTransitions[state].output_delta !== "illegal")).toEqual(["running"]);
  });

  test.each([
    [ToolCallOutcome.SUCCEEDED, "ended_after_running"],
    [ToolCallOutcome.FAILED, "ended_after_running"],
    [ToolCallOutcome.DENIED, "ended_without_running"],
    [ToolCallOutcome.REJECTED, "ended_without_running"],
    [ToolCallOutcome.DISCARDED, "ended_without_running"],
    [ToolCallOutcome.CANCELLED, "ended"],
    [ToolCallOutcome.TIMED_OUT, "ended"],
    [ToolCallOutcome.INTERRUPTED, "ended"],
  ])("outcome %i is the step %s", (outcome, step) => {
    expect(stepOf({ case: "toolCallComplete", value: { toolCallId, outcome } })).toBe(step);
  });

  test("what an event carries decides what it does", () => {
    expect(stepOf({ case: "toolCallStarted", value: { toolCallId, executor: Executor.CLIENT } })).toBe(
      "started_for_client",
    );
    expect(stepOf({ case: "toolCallStarted", value: { toolCallId, executor: Executor.MCP } })).toBe("started");
    expect(stepOf({ case: "toolCallApprovalResolved", value: { toolCallId, decision: Decision.ALLOWED } })).toBe(
      "approval_allowed",
    );
    expect(stepOf({ case: "toolCallApprovalResolved", value: { toolCallId, decision: Decision.EXPIRED } })).toBe(
      "approval_refused",
    );
  });

  test("states go over the wire and back", () => {
    for (const state of states) expect(stateFromWire(wireState[state])).toBe(state);
  });
});
