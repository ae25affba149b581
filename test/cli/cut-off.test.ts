// When a thread that is only read looks as if somebody worked on it.
import { expect, test } from "vitest";
import { type StreamThreadEventsResponse, SuspendReason } from "../../gen/heddle/v1/event_pb.js";
import { watchRunning } from "../../src/cli/cut-off.js";
import { event, named, runEnd, started } from "./live-view-support.js";

const suspended = event({ case: "runSuspended", value: { reason: SuspendReason.APPROVAL } });
const resumed = event({ case: "runResumed", value: {} });
const startedBy = (producer: string) => event({ case: "runStarted", value: { producer } });
const exited = event({ case: "processExited", value: { processId: "p" } });

test.each<[string, StreamThreadEventsResponse[], boolean]>([
  ["a run without an end", [started(), named("c", "Look")], true],
  ["events from somewhere in the middle, which may be of one that waits", [named("c", "Look")], false],
  ["a producer's, who may come back", [startedBy("builder"), named("c", "Look")], false],
  ["one that goes on", [started(), suspended, resumed], true],
  ["the next one", [started(), runEnd(), started()], true],
  ["one that waits for somebody, whatever becomes of its calls", [started(), suspended, named("c", "Look")], false],
  ["a whole one", [started(), runEnd()], false],
  ["a process that has outlived its run", [exited], false],
])("%s", (_, events, expected) => {
  const isRunning = watchRunning();
  expect(events.map(isRunning).at(-1)).toBe(expected);
});
