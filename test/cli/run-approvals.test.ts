// heddle run and calls that need a yes, against a scripted server: who is asked, what is sent, and what is said.
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ContentRole } from "../../gen/heddle/v1/content_pb.js";
import {
  ToolCallApprovalResolved_Decision as Decision,
  RunOutcome,
  type StreamThreadEventsResponse,
} from "../../gen/heddle/v1/event_pb.js";
import { ApprovalMode, type RunOptions } from "../../gen/heddle/v1/run_options_pb.js";
import { ToolCallOutcome, ToolCallState } from "../../gen/heddle/v1/tool_call_pb.js";
import type { ResolveApprovalRequest } from "../../gen/heddle/v1/tool_call_service_pb.js";
import { shortestGlanceMs } from "../../src/cli/read-line.js";
import { heddleError } from "../../src/client/resumable.js";
import { newEvent } from "../../src/thread/event.js";
import { event, named, over, ready, runEnd, runId, running, started, threadId } from "./live-view-support.js";
import { type FakeIo, fakeIo, fakeServer, heddle } from "./support.js";
import { TinyTerminal } from "./tiny-terminal.js";

const first = "aaaaaaaa-0000-4000-8000-000000000001";
const second = "bbbbbbbb-0000-4000-8000-000000000002";
const hashOf = (id: string) => Buffer.alloc(32, id.charCodeAt(0));
const input = { contentId: "input", role: ContentRole.INPUT, mediaType: "application/json", sizeBytes: 9n };

const asks = (id: string) => [
  named(id, "Write file"),
  ready(id, `Writing ${id[0]}.txt`),
  event({
    case: "toolCallApprovalRequested",
    value: { toolCallId: id, summary: `Writing ${id[0]}.txt`, reason: "policy", approvalSha256: hashOf(id) },
  }),
];
const resolved = (id: string, decision: Decision, resolvedBy = "ada") =>
  event({ case: "toolCallApprovalResolved", value: { toolCallId: id, decision, resolvedBy } });
const ran = (id: string) => [running(id, `Writing ${id[0]}.txt`), over(id, `Wrote ${id[0]}.txt`)];
const denied = (id: string, message: string, kind = "nobody_to_ask") =>
  over(id, `Denied: ${message}`, ToolCallOutcome.DENIED, { error: { kind, message } });

/** A server whose events the test makes as it goes. An answer leads to what `onAnswer` makes of it. */
function serving(events: readonly StreamThreadEventsResponse[]) {
  const stored: StreamThreadEventsResponse[] = [];
  const answers: ResolveApprovalRequest[] = [];
  const options: (RunOptions | undefined)[] = [];
  const over = new Set<string>();
  let wake = () => {};
  const push = (...more: readonly StreamThreadEventsResponse[]) => {
    for (const each of more) {
      stored.push(newEvent({ ...each, sequence: BigInt(stored.length + 1), runId }));
      if (each.payload.case === "toolCallApprovalResolved") over.add(each.payload.value.toolCallId);
    }
    wake();
  };
  push(started(), ...events);
  const server = {
    answers,
    options,
    push,
    onAnswer: (_: ResolveApprovalRequest): void => {},
    onCancel: (): void => {},
    /** Called when a call is read. */
    onRead: (_: string): void => {},
    listening: fakeServer(
      {
        createThread: () => ({ thread: { id: threadId } }),
        sendMessage: (request) => {
          options.push(request.options);
          return { runId };
        },
        cancelRun: () => {
          server.onCancel();
          return {};
        },
        async *streamThreadEvents({ afterSequence }) {
          yield newEvent({ threadId, payload: { case: "ready", value: {} } });
          for (let at = Number(afterSequence); ; ) {
            for (; at < stored.length; at++) yield stored[at]!;
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        },
      },
      {
        getToolCall: ({ toolCallId: id }) => {
          server.onRead(id);
          return {
            toolCall: {
              id,
              title: "Write file",
              startedSummary: `Writing ${id[0]}.txt`,
              state: over.has(id) ? ToolCallState.OVER : ToolCallState.AWAITING_APPROVAL,
              approval: { reason: "policy", approvalSha256: hashOf(id), expireTime: timestampFromMs(0) },
              contents: [input],
            },
            contents: [{ info: input, data: Buffer.from(`{"id":"${id[0]}"}`) }],
          };
        },
        resolveApproval: (request) => {
          answers.push(request);
          server.onAnswer(request);
          return {};
        },
      },
    ),
  };
  return server;
}

/** How long a person takes at least to read a question: what is typed sooner does not count. */
const glanceMs = shortestGlanceMs + 10;

/** A terminal, and what is done whenever a question is to be seen on it. */
function openTerminal(onQuestion: (summary: string, io: FakeIo) => void, env: Record<string, string> = {}) {
  const terminal = new TinyTerminal(100, 30);
  const io = fakeIo({ isTTY: true, columns: 100, rows: 30, env });
  io.stdout.onWrite = (data) => {
    terminal.write(data);
    const lines = terminal.screen;
    const asked = lines.findLastIndex((line) => line.startsWith("? Write file") && !line.includes("waits for"));
    if (io.stdin.mode !== undefined && asked >= 0 && lines.at(-1)?.includes("Allow?"))
      setTimeout(() => io.stdin.mode && onQuestion(lines[asked]!.slice("? Write file: ".length), io), glanceMs);
  };
  return { terminal, io };
}

const run = (url: string, io: FakeIo, ...flags: string[]) => heddle(["run", "x", "--server", url, ...flags], io);

describe("on a terminal", () => {
  test("questions are asked one after the other, each for its own hash, and the run goes on", async () => {
    const server = serving([...asks(first), ...asks(second)]);
    server.onAnswer = ({ toolCallId: id, decision, reason }) => {
      if (decision === Decision.ALLOWED) server.push(resolved(id, decision), ...ran(id));
      else server.push(resolved(id, decision), denied(id, `The user said no: ${reason}`));
      if (id === second) server.push(runEnd());
    };
    await using at = await server.listening;
    const questions: string[] = [];
    const { terminal, io } = openTerminal((summary, { stdin }) => {
      if (questions.at(-1) !== summary) questions.push(summary);
      stdin.types(summary === "Writing a.txt" ? "y\r" : "n keep b\r");
    });
    const { code } = await run(at.url, io);
    expect(code).toBe(0);
    expect(questions).toEqual(["Writing a.txt", "Writing b.txt"]);
    expect(server.options).toMatchObject([{ approvalMode: ApprovalMode.ASK }]);
    const resolvedBy = expect.stringMatching(/^\S.* \(heddle run\)$/);
    expect(server.answers).toMatchObject([
      { toolCallId: first, decision: Decision.ALLOWED, reason: "", resolvedBy },
      { toolCallId: second, decision: Decision.DENIED, reason: "keep b", resolvedBy },
    ]);
    for (const { toolCallId, approvalSha256 } of server.answers)
      expect(Buffer.from(approvalSha256)).toEqual(hashOf(toolCallId));
    expect(terminal.text.slice(3)).toEqual([
      "✓ Write file: Writing a.txt  allowed by ada",
      "✓ Write file: Wrote a.txt  8 ms",
      expect.stringMatching(/^⊘ Write file: Denied: The user said no: keep b/),
      "",
      expect.stringMatching(/^✓ succeeded/),
    ]);
    expect(io.stdin.mode).toBeUndefined();
  });

  test("somebody else answers: the question goes away, and nothing is sent", async () => {
    const server = serving(asks(first));
    await using at = await server.listening;
    let isPushed = false;
    const { terminal, io } = openTerminal(() => {
      if (!isPushed) server.push(resolved(first, Decision.ALLOWED, "bob"), ...ran(first), runEnd());
      isPushed = true;
    });
    const { code } = await run(at.url, io);
    expect(code).toBe(0);
    expect(server.answers).toEqual([]);
    expect(terminal.text).toContain("✓ Write file: Writing a.txt  allowed by bob");
    expect(terminal.text.join("\n")).not.toContain("Allow?");
  });

  test("an answer that comes too late is said in a line, and the run goes on", async () => {
    const server = serving(asks(first));
    server.onAnswer = () => {
      setImmediate(() => server.push(resolved(first, Decision.EXPIRED, ""), denied(first, "too late"), runEnd()));
      throw heddleError(Code.FailedPrecondition, "APPROVAL_NOT_PENDING", "it waited until its time was up");
    };
    await using at = await server.listening;
    const { terminal, io } = openTerminal((_, { stdin }) => stdin.types("y\r"));
    const { code } = await run(at.url, io);
    expect(code).toBe(0);
    expect(server.answers).toHaveLength(1);
    expect(terminal.text).toContain("the answer was not taken: it waited until its time was up");
  });

  test("an answer that does not arrive is asked for again", async () => {
    const server = serving(asks(first));
    server.onAnswer = ({ toolCallId: id, decision }) => {
      if (server.answers.length === 1) throw new ConnectError("gone", Code.Unavailable);
      server.push(resolved(id, decision), ...ran(id), runEnd());
    };
    await using at = await server.listening;
    const { terminal, io } = openTerminal((_, { stdin }) => stdin.types("y\r"));
    const { code } = await run(at.url, io);
    expect(code).toBe(0);
    expect(server.answers).toHaveLength(2);
    expect(terminal.text).toContain("the answer did not arrive, and is asked for again");
  });

  test("Ctrl-C at the question calls the run off, and asks no more", async () => {
    const server = serving([...asks(first), ...asks(second)]);
    server.onCancel = () => {
      const cancelled = (id: string) => over(id, "Cancelled", ToolCallOutcome.CANCELLED);
      server.push(cancelled(first), cancelled(second), runEnd(RunOutcome.CANCELLED));
    };
    await using at = await server.listening;
    let questions = 0;
    const { io } = openTerminal(() => {
      if (++questions === 1) io.signal("SIGINT");
    });
    const { code } = await run(at.url, io);
    expect(code).toBe(130);
    expect(server.answers).toEqual([]);
    expect(io.stdin.mode).toBeUndefined();
  });

  test("one that only prints lines asks in lines", async () => {
    const server = serving(asks(first));
    server.onAnswer = ({ toolCallId: id, decision }) => server.push(resolved(id, decision), ...ran(id), runEnd());
    await using at = await server.listening;
    const io = fakeIo({ isTTY: true, env: { TERM: "dumb" } });
    io.stdin.onListen = () => setTimeout(() => io.stdin.types("what?\n"), glanceMs);
    io.stdout.onWrite = (text) => text.startsWith("Type y") && queueMicrotask(() => io.stdin.types("y\n"));
    const { code, stdout } = await run(at.url, io);
    expect(code).toBe(0);
    expect(stdout).toContain('\n? Write file: Writing a.txt\n  policy; expires in 0 s\n    {"id":"a"}\nAllow? [y]es');
    expect(stdout).toContain("Type y to allow it, or n, or n and a reason. Allow?");
    expect(server.answers).toMatchObject([{ decision: Decision.ALLOWED }]);
  });
});

describe("--yes", () => {
  test.each([
    ["on a terminal", true, []],
    ["in a pipe", false, []],
    ["as JSON", false, ["--json"]],
  ])("says yes to each without asking, and is recorded as such: %s", async (_, isTTY, flags) => {
    const server = serving([...asks(first), ...asks(second)]);
    server.onAnswer = ({ toolCallId: id, decision }) => {
      server.push(resolved(id, decision), ...ran(id));
      if (server.answers.length === 2) server.push(runEnd());
    };
    await using at = await server.listening;
    const io = fakeIo({ isTTY });
    io.stdin.onListen = () => expect.unreachable("nobody is asked");
    const { code, stderr } = await run(at.url, io, "--yes", ...flags);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(server.options).toMatchObject([{ approvalMode: ApprovalMode.ASK }]);
    const yes = { decision: Decision.ALLOWED, resolvedBy: "heddle run --yes" };
    expect(server.answers.map(({ toolCallId }) => toolCallId).sort()).toEqual([first, second]);
    expect(server.answers).toMatchObject([yes, yes]);
  });
});

describe("where nobody can be asked", () => {
  const nobody = "Nobody is here to say yes to write_file";

  test.each([
    ["standard output is no terminal", false, true, []],
    ["standard input is no terminal", true, false, []],
    ["JSON is asked for", true, true, ["--json"]],
  ])("the run is told so, and a line says what to do, once: %s", async (_, isOut, isIn, flags) => {
    const calls = [first, second].flatMap((id) => [named(id, "Write file"), ready(id, "Writing"), denied(id, nobody)]);
    const server = serving([...calls, runEnd()]);
    await using at = await server.listening;
    const io = fakeIo({ isTTY: isOut, env: { TERM: "dumb" } });
    Object.assign(io.stdin, { isTTY: isIn });
    const { code, stderr } = await run(at.url, io, ...flags);
    expect(code).toBe(0);
    expect(server.options).toMatchObject([{ approvalMode: ApprovalMode.DENY }]);
    expect(stderr).toBe(
      "heddle: calls that need a yes are denied, for nobody can be asked here: run it on a terminal, add --yes, or set agent.trusted in the configuration\n",
    );
  });

  test("a tool that policy forbids is another matter", async () => {
    const call = [
      named(first, "Write file"),
      denied(first, "The policy of this server does not allow write_file", "denied_by_policy"),
    ];
    const server = serving([...call, runEnd()]);
    await using at = await server.listening;
    expect(await run(at.url, fakeIo())).toMatchObject({ code: 0, stderr: "" });
  });
});
