// Events as a producer would record them, for tests and benches.
import { create } from "@bufbuild/protobuf";
import { type ContentChunk, ContentChunkSchema, ContentRole } from "../../gen/heddle/v1/content_pb.js";
import { OutputStream, PlanEntry_Status, Role, RunOutcome, ToolCallPhase } from "../../gen/heddle/v1/event_pb.js";
import { Executor, ToolCallOutcome, ToolKind } from "../../gen/heddle/v1/tool_call_pb.js";
import { newEvent, type ThreadEvent, type ThreadEventInit } from "../../src/thread/event.js";
import { newId } from "../../src/thread/ids.js";

type PayloadInit = NonNullable<ThreadEventInit["payload"]>;

/** Builds the events of one run. */
export class RunScript {
  readonly runId: string;

  constructor(runId: string = newId()) {
    this.runId = runId;
  }

  event(payload: PayloadInit): ThreadEvent {
    return newEvent({ runId: this.runId, payload });
  }

  started(model = "demo:model"): ThreadEvent {
    return this.event({ case: "runStarted", value: { model } });
  }

  completed(outcome = RunOutcome.SUCCEEDED): ThreadEvent {
    return this.event({ case: "runCompleted", value: { outcome, finishReason: "stop" } });
  }

  message(text: string, messageId: string = newId(), role = Role.ASSISTANT): ThreadEvent[] {
    return [
      this.event({ case: "messageCreated", value: { messageId, role } }),
      this.event({ case: "messageDelta", value: { messageId, text } }),
      this.event({ case: "messageCompleted", value: { messageId } }),
    ];
  }

  created(toolCallId: string, toolName = "run_command", kind = ToolKind.EXECUTE): ThreadEvent {
    return this.event({ case: "toolCallCreated", value: { toolCallId, toolName, title: "Run a command", kind } });
  }

  inputDelta(toolCallId: string, text: string): ThreadEvent {
    return this.event({ case: "toolCallInputDelta", value: { toolCallId, text } });
  }

  inputCompleted(toolCallId: string, summary = "Running npm test"): ThreadEvent {
    return this.event({ case: "toolCallInputCompleted", value: { toolCallId, summary } });
  }

  callStarted(toolCallId: string, summary = "", executor = Executor.SERVER): ThreadEvent {
    return this.event({ case: "toolCallStarted", value: { toolCallId, summary, executor } });
  }

  output(toolCallId: string, text: string, stream = OutputStream.STDOUT): ThreadEvent {
    return this.event({ case: "toolCallOutputDelta", value: { toolCallId, text, stream } });
  }

  progress(toolCallId: string, message: string): ThreadEvent {
    return this.event({ case: "toolCallProgress", value: { toolCallId, message, completed: 1, total: 2 } });
  }

  complete(
    toolCallId: string,
    outcome = ToolCallOutcome.SUCCEEDED,
    summary = "Ran npm test (exit code 0)",
  ): ThreadEvent {
    const exitCode = outcome === ToolCallOutcome.SUCCEEDED ? { exitCode: 0 } : {};
    return this.event({ case: "toolCallComplete", value: { toolCallId, outcome, summary, ...exitCode } });
  }

  /** A call from its first event to its last. */
  wholeCall(toolCallId: string = newId(), output = "ok\n"): ThreadEvent[] {
    return [
      this.created(toolCallId),
      this.inputDelta(toolCallId, '{"command":'),
      this.inputDelta(toolCallId, '"npm test"}'),
      this.inputCompleted(toolCallId),
      this.callStarted(toolCallId),
      this.progress(toolCallId, "half way"),
      this.output(toolCallId, output),
      this.complete(toolCallId),
    ];
  }

  /** A run with a message, three calls one after the other, and an answer. */
  whole(): ThreadEvent[] {
    return [
      this.started(),
      ...this.message("Please run the tests", newId(), Role.USER),
      ...[1, 2, 3].flatMap((n) => this.wholeCall(newId(), `output of call ${n}\n`)),
      ...this.message("All three passed."),
      this.completed(),
    ];
  }
}

/** A run that has a bit of everything, in two parts: what is stored when a watcher comes, and what happens while it watches. */
export function storyOf(run: RunScript) {
  const [search, failing, cancelled] = [newId(), newId(), newId()];
  const reasoningId = newId();
  const stored: ThreadEvent[] = [
    run.event({
      case: "runStarted",
      value: {
        model: "demo:model",
        requestId: "r-1",
        request: { temperature: 0.5, tools: ["search", null, true], nested: { deep: "" } },
      },
    }),
    ...run.message("Find the weak spots – and mend them. 🧵", newId(), Role.USER),
    run.event({ case: "reasoningDelta", value: { reasoningId, text: "First look, then touch." } }),
    run.event({ case: "reasoningCompleted", value: { reasoningId } }),
    run.event({
      case: "planUpdated",
      value: { entries: [{ content: "Look", status: PlanEntry_Status.IN_PROGRESS }, { content: "Mend" }] },
    }),
    run.event({
      case: "toolCallCreated",
      value: {
        toolCallId: search,
        toolName: "docs__search",
        title: "Search the docs",
        kind: ToolKind.SEARCH,
        source: { source: { case: "mcp", value: { serverLabel: "docs", toolName: "search" } } },
        attempt: 1,
      },
    }),
    run.inputDelta(search, '{"query":"weak '),
    run.inputDelta(search, 'spots"}'),
    run.inputCompleted(search, "Searching the docs for weak spots"),
    run.callStarted(search, "", Executor.MCP),
    run.event({
      case: "toolCallProgress",
      value: { toolCallId: search, phase: ToolCallPhase.SEARCHING, completed: 0.5, total: 2 },
    }),
    run.event({
      case: "toolCallComplete",
      value: {
        toolCallId: search,
        outcome: ToolCallOutcome.SUCCEEDED,
        summary: "Found 2 places",
        locations: [{ path: "/docs/a.md", line: 12 }, { path: "/docs/b.md" }],
      },
    }),
    run.created(failing),
    run.inputDelta(failing, '{"command":"npm test"}'),
  ];
  const live: ThreadEvent[] = [
    run.inputCompleted(failing),
    run.callStarted(failing),
    run.output(failing, "1 failed, 41 passed\n"),
    run.output(failing, "TypeError: nöpe\n", OutputStream.STDERR),
    run.event({
      case: "toolCallComplete",
      value: {
        toolCallId: failing,
        outcome: ToolCallOutcome.FAILED,
        summary: "npm test failed (exit code 1)",
        error: { kind: "tool_error", code: "1", message: "1 of 42 tests failed" },
        exitCode: 1,
      },
    }),
    run.created(cancelled, "wait", ToolKind.OTHER),
    run.inputCompleted(cancelled, "Waiting for the build"),
    run.callStarted(cancelled),
    run.progress(cancelled, "still waiting"),
    run.complete(cancelled, ToolCallOutcome.CANCELLED, "Called off"),
    run.event({
      case: "planUpdated",
      value: {
        entries: [
          { content: "Look", status: PlanEntry_Status.COMPLETED },
          { content: "Mend", status: PlanEntry_Status.PENDING },
        ],
      },
    }),
    ...run.message("One test fails; I stopped there."),
    run.event({
      case: "runCompleted",
      value: {
        outcome: RunOutcome.SUCCEEDED,
        finishReason: "stop",
        usage: { inputTokens: 9_007_199_254_740_993n, outputTokens: 7n },
      },
    }),
  ];
  const storedBodies = [inputChunk(search, '{"query":"weak spots"}'), resultChunk(search, '{"hits":2}')];
  return { stored, live, storedBodies, calls: { search, failing, cancelled } };
}

export const inputChunk = (toolCallId: string, text: string, offset = 0n): ContentChunk =>
  chunk({ toolCallId, contentId: "input", role: ContentRole.INPUT, mediaType: "application/json", offset, text });

export const resultChunk = (toolCallId: string, text: string, offset = 0n): ContentChunk =>
  chunk({ toolCallId, contentId: "result", role: ContentRole.RESULT, mediaType: "application/json", offset, text });

export function chunk(init: {
  toolCallId: string;
  contentId: string;
  role: ContentRole;
  mediaType: string;
  offset: bigint;
  text: string;
}): ContentChunk {
  const { text, ...rest } = init;
  return create(ContentChunkSchema, { ...rest, data: Buffer.from(text) });
}
