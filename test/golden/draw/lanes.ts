// The calls of a log side by side: one lane a call, one column an event.
import { type CallPayload, isCallPayload, type ThreadEvent } from "../../../src/thread/event.js";
import { callMarks } from "./marks.js";

/** Undefined when there is nothing to compare. */
export function drawLanes(events: readonly ThreadEvent[]): string | undefined {
  const calls = new Map<string, string>();
  for (const { payload } of events)
    if (payload.case === "toolCallCreated") calls.set(payload.value.toolCallId, payload.value.toolName);
  if (calls.size < 2) return undefined;
  const names = [...calls].map(([id, toolName]) => `${id} ${toolName}`);
  const width = Math.max(...names.map(({ length }) => length));
  const lanes = [...calls.keys()].map((id, index) => `${names[index]!.padEnd(width)}  ${laneOf(events, id)}`);
  return [`${"#".padEnd(width)}  ${ruler(events.length)}`, ...lanes].join("\n");
}

function laneOf(events: readonly ThreadEvent[], toolCallId: string): string {
  let between = " ";
  let lane = "";
  for (const { payload } of events) {
    if (!isCallPayload(payload) || payload.value.toolCallId !== toolCallId) {
      lane += between;
      continue;
    }
    lane += marks[payload.case](payload as never);
    if (payload.case === "toolCallCreated") between = "┄";
    else if (payload.case === "toolCallStarted") between = "━";
    else if (payload.case === "toolCallComplete") between = " ";
  }
  return lane.trimEnd();
}

type Mark<Case> = (payload: Extract<CallPayload, { case: Case }>) => string;

const marks: { readonly [Case in CallPayload["case"]]: Mark<Case> } = {
  toolCallCreated: () => "○",
  toolCallInputDelta: () => "i",
  toolCallTextDelta: () => "t",
  toolCallInputCompleted: () => "◌",
  toolCallApprovalRequested: () => "?",
  toolCallApprovalResolved: () => "!",
  toolCallStarted: () => "●",
  toolCallClaimed: () => "c",
  toolCallProgress: () => "p",
  toolCallOutputDelta: () => "o",
  toolCallComplete: ({ value }) => callMarks[value.outcome],
};

export const laneLegend =
  "○ Created · i InputDelta · t TextDelta · ◌ InputCompleted · ● Started · p Progress · o OutputDelta · ┄ not started yet · ━ running";

/** The sequences of every fifth event. */
function ruler(length: number): string {
  let line = "";
  for (let sequence = 5; sequence <= length; sequence += 5) line = line.padEnd(sequence - 1) + sequence;
  return line;
}
