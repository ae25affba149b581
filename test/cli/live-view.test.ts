// The live view as a fold: which lines leave, which stay, and what they say.
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import {
  PlanEntry_Status,
  Role,
  RunOutcome,
  type StreamThreadEventsResponse,
  SuspendReason,
  TextPurpose,
  ToolCallPhase,
} from "../../gen/heddle/v1/event_pb.js";
import { Executor, ToolCallOutcome, ToolKind } from "../../gen/heddle/v1/tool_call_pb.js";
import { foldEvent, newView, setAway } from "../../src/cli/live-view.js";
import { type Line, plainText } from "../../src/cli/live-view-line.js";
import { openLines } from "../../src/cli/live-view-open.js";
import {
  event,
  message,
  named,
  over,
  prints,
  progress,
  ready,
  runEnd,
  running,
  said,
  says,
  speaks,
  started,
  thinks,
  threadId,
  writes,
} from "./live-view-support.js";

/** All finished lines, and the open ones `laterMs` after the last event. */
function show(
  events: readonly StreamThreadEventsResponse[],
  { laterMs = 0, columns = 80, rows = 24 }: { laterMs?: number; columns?: number; rows?: number } = {},
) {
  let view = newView;
  const finished: Line[] = [];
  for (const each of events) {
    const step = foldEvent(view, each, 0);
    view = step.view;
    finished.push(...step.finished);
  }
  const open = openLines(view, laterMs, { columns, rows });
  return { finished: finished.map(plainText), open: open.map(plainText), lines: finished, openLines: open };
}

describe("text", () => {
  test("whole lines leave as they come, the last one stays open", () => {
    expect(show([message("m"), says("m", "one\ntw"), says("m", "o\nthree")])).toMatchObject({
      finished: ["one", "two"],
      open: ["three"],
    });
    expect(show([message("m"), says("m", "one\ntwo"), said("m")])).toMatchObject({
      finished: ["one", "two"],
      open: [],
    });
  });

  test("a call comes after what was said before it, also when its line has not ended", () => {
    const events = [message("m"), says("m", "Let me look"), named("c", "Look"), over("c", "Looked")];
    expect(show(events).finished).toEqual(["Let me look", "", "✓ Look: Looked  8 ms"]);
    expect(show([...events, said("m")]).finished).toHaveLength(3);
  });

  test("empty lines count only between others", () => {
    expect(show([message("m"), says("m", "\n\none\n\n\ntwo\n\n"), said("m")]).finished).toEqual(["one", "", "", "two"]);
  });

  test("what the user or the operator said is not repeated", () => {
    for (const role of [Role.USER, Role.SYSTEM])
      expect(show([message("m", role), says("m", "hello\n"), said("m")]).finished).toEqual([]);
  });

  test("a refusal and a cut are said", () => {
    expect(
      show([message("m"), says("m", "Well"), said("m", { refusal: "I will not", incomplete: true })]).finished,
    ).toEqual(["Well", "refused: I will not", "(cut off)"]);
  });

  test("reasoning is dim and apart from the answer", () => {
    const { lines, finished } = show([thinks("r", "hm\n"), message("m"), says("m", "yes\n")]);
    expect(finished).toEqual(["hm", "", "yes"]);
    expect(lines[0]).toEqual([{ text: "hm", paint: "dim" }]);
  });

  test("control sequences do nothing, also when they come in two pieces", () => {
    const { finished, open } = show([
      message("m"),
      says("m", "a\u001b[3"),
      says("m", "1mb\u0007\u202e\n"),
      says("m", "c\u001b[2"),
    ]);
    expect(finished).toEqual(["ab\\u{7}\\u{202e}"]);
    expect(open.at(-1)).toBe("c");
  });

  test("a carriage return ends a line like any other end, also when a line feed follows in the next piece", () => {
    const { finished, open } = show([message("m"), says("m", "a\rb\r"), says("m", "\nc\r\nd\r"), says("m", "e\r")]);
    expect({ finished, open }).toEqual({ finished: ["a", "b", "c", "d"], open: ["e"] });
    const spoken = [named("c", "Tell the user"), speaks("c", "a\rb"), ready("c", "Telling")];
    expect(show(spoken).finished).toEqual(["a", "b"]);
  });

  test("a line without an end is broken, and takes no more rows than there are", () => {
    const { finished, open } = show([message("m"), says("m", "x".repeat(8000)), says("m", "y".repeat(9000))]);
    expect(finished.map((line) => line.length)).toEqual([17_000]);
    expect(open).toEqual([]);
    expect(show([message("m"), says("m", "word ".repeat(1000))], { rows: 6 }).open).toHaveLength(5);
  });
});

describe("a call", () => {
  test("goes from its title to its end", () => {
    const call = [named("c", "Run a command")];
    const line = (laterMs = 0) => show(call, { laterMs }).open;
    expect(line()).toEqual(["◐ Run a command  preparing"]);
    call.push(ready("c", "Running npm test"));
    expect(line()).toEqual(["◐ Run a command: Running npm test"]);
    call.push(running("c", "Running npm test"));
    expect(line(999)).toEqual(["◐ Run a command: Running npm test"]);
    expect(line(3_250)).toEqual(["◒ Run a command: Running npm test  3.2 s"]);
    expect(line(61_000)[0]).toContain("1 min 1 s");
    call.push(over("c", "Ran npm test (exit code 0)"));
    expect(show(call)).toMatchObject({ finished: ["✓ Run a command: Ran npm test (exit code 0)  8 ms"], open: [] });
  });

  test("shows the last five lines that it printed, dim, and keeps them at its end", () => {
    const events = [
      named("c", "Run"),
      running("c", "Running"),
      prints("c", "1\n2\n3\n4\n"),
      prints("c", "5\n\n6\nse"),
      prints("c", "ven"),
    ];
    const { open, openLines: lines } = show(events);
    expect(open.slice(1)).toEqual(["    3", "    4", "    5", "    6", "    seven"]);
    expect(lines[1]![0]!.paint).toBe("dim");
    expect(show([...events, over("c", "Ran")]).finished).toEqual([
      "✓ Run: Ran  8 ms",
      ...["3", "4", "5", "6", "seven"].map((line) => `    ${line}`),
    ]);
  });

  test("output is what a terminal would show of it: returns, colours, tabs, nothing dangerous", () => {
    const text = "10%\r20%\r\n\u001b[32mgreen\u001b[0m\ta\n\u001b]0;title\u0007x\n\u0000\u009b2Jy\n";
    expect(show([named("c", "Run"), running("c", "R"), prints("c", text)]).open.slice(1)).toEqual([
      "    20%",
      "    green    a",
      "    x",
      "    \\u{0}y",
    ]);
  });

  test("a flood of output is bounded", () => {
    const flood = prints("c", "z".repeat(32_000));
    const { open } = show([named("c", "Run"), running("c", "R"), ...Array.from({ length: 50 }, () => flood)], {
      columns: 5_000,
    });
    expect(open[1]!.length).toBeLessThanOrEqual(4 + 1000);
  });

  test("progress is a bar where there is a total, a count where there is none; phases are words", () => {
    const events = [named("c", "Search"), running("c", "Searching")];
    const half = progress("c", { completed: 1, total: 2, phase: ToolCallPhase.SEARCHING, message: "page 1" });
    expect(show([...events, half]).open).toEqual([
      "◐ Search: Searching  searching, page 1",
      "  ██████████░░░░░░░░░░ 50%  1 of 2",
    ]);
    expect(show([...events, progress("c", { completed: 1234.5678 })]).open[1]).toBe("  1234.57 done");
    expect(show([...events, progress("c", { completed: 9, total: 3 })]).open[1]).toContain("100%");
    expect(show([...events, progress("c", { completed: 0, total: 0 })]).open[1]).toBe("  0 done");
    expect(show([...events, progress("c", { elapsed: durationFromMs(9_000) })]).open[0]).toContain("9.0 s");
  });

  test.each([
    [ToolCallOutcome.FAILED, "✗", "failed"],
    [ToolCallOutcome.TIMED_OUT, "✗", "timed out"],
    [ToolCallOutcome.REJECTED, "✗", "rejected"],
    [ToolCallOutcome.INTERRUPTED, "↯", "interrupted"],
    [ToolCallOutcome.UNSPECIFIED, "✗", "failed"],
    [ToolCallOutcome.CANCELLED, "⊘", "cancelled"],
    [ToolCallOutcome.DENIED, "⊘", "denied"],
    [ToolCallOutcome.DISCARDED, "⊘", "discarded"],
  ])("an outcome of %d is %s %s", (outcome, icon, word) => {
    const lines = (summary: string, rest = {}) => show([named("c", "Run"), over("c", summary, outcome, rest)]).finished;
    expect(lines("No luck")).toEqual([`${icon} Run: No luck  ${word}, 8 ms  c`]);
    expect(lines(`It ${word} here`)).toEqual([`${icon} Run: It ${word} here  8 ms  c`]);
    const error = { kind: "tool_error", code: "ENOENT", message: "No luck: no such file" };
    expect(lines("No luck", { error })).toEqual([`${icon} Run: No luck  ${word}, ENOENT, no such file, 8 ms  c`]);
  });

  test("waiting for somebody is said", () => {
    const asked = event({
      case: "toolCallApprovalRequested",
      value: { toolCallId: "c", summary: "Delete a file", reason: "it deletes" },
    });
    expect(show([named("c", "Delete"), asked]).open).toEqual([
      "? Delete: Delete a file  waits for an approval, it deletes",
    ]);
    const offered = running("d", "Reading", { executor: Executor.CLIENT });
    expect(show([named("d", "Read"), offered]).open).toEqual(["? Read: Reading  waits for a client to run it"]);
    const claimed = event({ case: "toolCallClaimed", value: { toolCallId: "d", executorName: "laptop" } });
    expect(show([named("d", "Read"), offered, claimed]).open).toEqual(["◐ Read: Reading  run by laptop"]);
  });

  test("says the exit code of a command, unless the summary does or nobody asked for one", () => {
    const end = (rest: object, outcome?: ToolCallOutcome, summary = "Ran it") =>
      show([named("c", "Run", { kind: ToolKind.EXECUTE }), over("c", summary, outcome, rest)]).finished[0];
    expect(end({ exitCode: 3 })).toBe("✓ Run: Ran it  exit code 3, 8 ms");
    expect(end({ exitCode: 0 }, undefined, "Ran it (exit code 0)")).toBe("✓ Run: Ran it (exit code 0)  8 ms");
    expect(end({})).toBe("✓ Run: Ran it  exit code unknown, 8 ms");
    expect(end({}, ToolCallOutcome.CANCELLED)).toBe("⊘ Run: Ran it  cancelled, 8 ms  c");
    expect(end({}, ToolCallOutcome.REJECTED)).not.toContain("exit code");
  });

  test("a fast one leaves before a slow one, and parts stand below their whole", () => {
    const events = [named("slow", "Slow"), named("part", "Part", { parentToolCallId: "slow" }), named("fast", "Fast")];
    expect(show(events).open).toEqual(["◐ Slow  preparing", "  ◐ Part  preparing", "◐ Fast  preparing"]);
    expect(show([...events, over("fast", "Quick"), over("part", "Partly")])).toMatchObject({
      finished: ["✓ Fast: Quick  8 ms", "  ✓ Part: Partly  8 ms"],
      open: ["◐ Slow  preparing"],
    });
  });
});

describe("what the agent says through a tool", () => {
  const speech = [named("c", "Tell the user"), speaks("c", "Hello\nyo")];

  test("streams like its own text", () => {
    expect(show(speech)).toMatchObject({ finished: ["Hello"], open: ["yo"] });
  });

  test("is not repeated at the end", () => {
    const events = [...speech, speaks("c", "u"), ready("c", "Telling: Hello you"), running("c", "Telling: Hello you")];
    expect(show(events)).toMatchObject({ finished: ["Hello", "you"], open: [] });
    expect(show(events, { laterMs: 1_500 }).open).toEqual(["", "◐ Tell the user: Telling: Hello you  1.5 s"]);
    expect(show([...events, over("c", "Told the user: Hello you")])).toMatchObject({
      finished: ["Hello", "you"],
      open: [],
    });
  });

  test("the answers that a question offers stand below it, one a line, and do nothing but show", () => {
    const asks = (...pieces: readonly string[]) => [
      named("c", "Ask the user", { toolName: "clarify" }),
      ...pieces.map((piece) => writes("c", piece)),
      speaks("c", "Which one?"),
      ready("c", "Asking you a question"),
      over("c", 'Asked: "Which one?"'),
    ];
    expect(show(asks('{"question":"Which one?","options":["bl', 'ue","the\\nred\\u001b[2J one"]}')).finished).toEqual([
      "Which one?",
      "- blue",
      "- the red one",
    ]);
    for (const input of ['{"question":"Which one?"}', '{"options":{"a":1}}', '{"options":["a', "null", ""])
      expect(show(asks(input)).finished).toEqual(["Which one?"]);
  });

  test("a failure is told all the same", () => {
    const { finished } = show([...speech, over("c", "The reply was dropped", ToolCallOutcome.DISCARDED)]);
    expect(finished).toEqual(["Hello", "yo", "", "⊘ Tell the user: The reply was dropped  discarded, 8 ms  c"]);
  });

  test("code is shown while it is written, and makes room for its output", () => {
    const written = [named("c", "Run code"), speaks("c", "print(1)\n", TextPurpose.CODE)];
    expect(show(written).open).toEqual(["◐ Run code  preparing", "    print(1)"]);
    const returns = [named("c", "Run code"), speaks("c", "a = 1\rb = 2\r", TextPurpose.CODE)];
    expect(show(returns).open.slice(1)).toEqual(["    a = 1", "    b = 2"]);
    const ran = [...written, ready("c", "Running code"), running("c", "Running code"), prints("c", "1\n")];
    expect(show(ran).open).toEqual(["◐ Run code: Running code", "    1"]);
  });
});

describe("the run", () => {
  test("begins with the model and the thread, and ends with outcome, duration and tokens", () => {
    const { finished } = show([started(), message("m"), says("m", "Hi"), said("m"), runEnd()]);
    expect(finished).toEqual([
      "▶ demo:demo",
      `  thread ${threadId}`,
      "",
      "Hi",
      "",
      "✓ succeeded  2.1 s, 512 tokens in, 80 out",
    ]);
  });

  test.each([
    [
      RunOutcome.FAILED,
      { errorMessage: "the key is wrong" },
      "✗ failed: the key is wrong  2.1 s, 512 tokens in, 80 out",
    ],
    [
      RunOutcome.INCOMPLETE,
      { finishReason: "step_limit" },
      "✗ incomplete: stopped at its limit of steps (--max-steps, agent.maxSteps)  2.1 s, 512 tokens in, 80 out",
    ],
    [
      RunOutcome.INCOMPLETE,
      { finishReason: "length", usage: undefined },
      "✗ incomplete: the model's reply reached its length limit  2.1 s",
    ],
    [
      RunOutcome.INTERRUPTED,
      { finishReason: "server_stopping", usage: undefined },
      "↯ interrupted: the server stopped  2.1 s",
    ],
    [RunOutcome.FAILED, { finishReason: "toString", usage: undefined }, "✗ failed: toString  2.1 s"],
    [RunOutcome.CANCELLED, { finishReason: "cancelled" }, "⊘ cancelled  2.1 s, 512 tokens in, 80 out"],
    [RunOutcome.SUCCEEDED, { usage: { inputTokens: 0n, outputTokens: 0n } }, "✓ succeeded  2.1 s"],
    [RunOutcome.INTERRUPTED, { finishReason: "", usage: undefined }, "↯ interrupted  2.1 s"],
  ])("an outcome of %d", (outcome, rest, line) => {
    expect(show([started(), runEnd(outcome, rest)]).finished.at(-1)).toBe(line);
  });

  test("silence of the model is said after a second", () => {
    expect(show([started()], { laterMs: 900 }).open).toEqual([]);
    expect(show([started()], { laterMs: 2_000 }).open).toEqual([
      "",
      expect.stringMatching(/^. waiting for the model {2}2\.0 s$/),
    ]);
    expect(show([started(), runEnd()], { laterMs: 2_000 }).open).toEqual([]);
  });

  test("a server that is away stops the clocks, and is waited for", () => {
    const view = [started(), named("c", "Run"), running("c", "Running")].reduce(
      (before, each) => foldEvent(before, each, 0).view,
      newView,
    );
    const lines = (nowMs: number) => openLines(setAway(view, 5_000), nowMs, { columns: 80, rows: 24 }).map(plainText);
    expect(lines(5_900)).toEqual(["", expect.stringMatching(/^[◐◓◑◒] Run: Running {2}5\.9 s$/)]);
    expect(lines(28_000)).toEqual([
      "",
      "· Run: Running  5.0 s",
      "",
      expect.stringMatching(/^. waiting for the server, 23 s$/),
    ]);
    expect(openLines(setAway(view, 5_000), 28_000, { columns: 80, rows: 4 })).toHaveLength(3);
    expect(openLines(setAway(view, undefined), 28_000, { columns: 80, rows: 24 }).map(plainText)).toEqual([
      "",
      expect.stringContaining("28.0 s"),
    ]);
  });

  test("plans and pauses are lines of their own", () => {
    const plan = event({
      case: "planUpdated",
      value: {
        entries: [
          { content: "look", status: PlanEntry_Status.COMPLETED },
          { content: "tell", status: PlanEntry_Status.IN_PROGRESS },
        ],
      },
    });
    const pause = (reason: SuspendReason) => event({ case: "runSuspended", value: { reason, openToolCallIds: ["c"] } });
    const goOn = event({ case: "runResumed", value: {} });
    expect(show([plan, pause(SuspendReason.CLIENT_TOOL), goOn]).finished).toEqual([
      "≡ 1 of 2 done, now: tell",
      "‖ waits for a client to run a tool",
      "▶ goes on",
    ]);
    // A call that waits for a yes says so itself.
    expect(show([pause(SuspendReason.APPROVAL), goOn]).finished).toEqual([]);
  });

  test("S3: what it does not know, and calls that it never met, change nothing", () => {
    expect(
      show([event({ case: undefined }), prints("x", "y\n"), over("x", "z"), says("m", "t\n"), said("m")]),
    ).toMatchObject({
      finished: [],
      open: [],
    });
  });
});

describe("a small terminal", () => {
  const calls = Array.from({ length: 12 }, (_, index) => [
    named(`c${index}`, `Call ${index}`),
    running(`c${index}`, "日本語".repeat(30)),
    prints(`c${index}`, "out\n"),
  ]).flat();

  test("gets one line of each call, and a count of those that do not fit", () => {
    const { open } = show(calls, { rows: 8 });
    expect(open).toHaveLength(7);
    expect(open.at(-1)).toBe("… and 6 more");
    expect(show(calls, { rows: 20 }).open).toHaveLength(12);
    expect(show(calls, { rows: 40 }).open).toHaveLength(24);
  });

  test("no line is wider than it, however wide the characters", () => {
    for (const columns of [20, 41, 80, 120]) {
      for (const line of show(calls, { columns, rows: 40 }).open) {
        const width = [...line].reduce((sum, char) => sum + (/[一-鿿]/.test(char) ? 2 : 1), 0);
        expect(width).toBeLessThan(columns);
      }
    }
  });
});
