// heddle approvals against a scripted server: what it lists, what it shows of a question, and which answers it sends.
import { create, fromJsonString } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { describe, expect, test, vi } from "vitest";
import { ContentRole } from "../../gen/heddle/v1/content_pb.js";
import { ToolCallApprovalResolved_Decision as Decision } from "../../gen/heddle/v1/event_pb.js";
import {
  type ToolCall,
  ToolCallOutcome,
  ToolCallSchema,
  ToolCallState,
  ToolKind,
} from "../../gen/heddle/v1/tool_call_pb.js";
import type { ResolveApprovalRequest } from "../../gen/heddle/v1/tool_call_service_pb.js";
import { heddleError } from "../../src/client/resumable.js";
import { type FakeIo, fakeIo, fakeServer, heddle } from "./support.js";

const id = "0d4f5c1e-8c1b-4a57-9a44-5a0f6d1f2b3c";
const threadId = "7b0f2c4e-5a36-4d0e-9c3f-2f6f2b7b9a10";
const minute = 60_000;
const sha256 = Buffer.alloc(32, 7);

const approval = () => ({
  reason: "Policy asks before files are changed",
  approvalSha256: sha256,
  requestTime: timestampFromMs(Date.now() - 3 * minute),
  expireTime: timestampFromMs(Date.now() + 57.5 * minute),
});

const input = { contentId: "input", role: ContentRole.INPUT, mediaType: "application/json", sizeBytes: 20n };
const preview = { contentId: "preview", role: ContentRole.PREVIEW, mediaType: "text/x-diff", sizeBytes: 90n };
const diff =
  "--- a/n.txt\n+++ b/n.txt\n@@ -1 +1 @@\n-old\n+new\u001b[2J\u202e\u200d\u00a0.\r\n\\ No newline at end of file\n";

const waiting = (fields: object = {}): ToolCall =>
  create(ToolCallSchema, {
    id,
    threadId,
    runId: "11111111-1111-4111-8111-111111111111",
    toolName: "write_file",
    title: "Write file",
    kind: ToolKind.EDIT,
    state: ToolCallState.AWAITING_APPROVAL,
    startedSummary: "Writing n.txt (1 line)",
    contents: [input, preview],
    approval: approval(),
    ...fields,
  });

interface Served {
  calls?: readonly ToolCall[];
  /** What comes inline; the rest has to be read. */
  inline?: readonly { info: typeof input; data: Uint8Array }[];
  refuse?: () => never;
}

function serving({ calls = [waiting()], inline = wholly, refuse }: Served = {}) {
  const answers: ResolveApprovalRequest[] = [];
  const server = fakeServer(
    {},
    {
      listApprovals: ({ pageToken }) => {
        const at = Number(pageToken);
        return { toolCalls: calls.slice(at, at + 1), nextPageToken: at + 1 < calls.length ? String(at + 1) : "" };
      },
      getToolCall: ({ toolCallId }) => {
        const toolCall = calls.find((each) => each.id === toolCallId);
        if (!toolCall) throw heddleError(Code.NotFound, "TOOL_CALL_NOT_FOUND", `There is no tool call ${toolCallId}`);
        return { toolCall, contents: [...inline] };
      },
      async *readToolCallContent({ contentId }) {
        expect(contentId).toBe("preview");
        yield { info: preview, data: Buffer.from(diff).subarray(0, 20) };
        yield { offset: 20n, data: Buffer.from(diff).subarray(20) };
      },
      resolveApproval: (request) => {
        refuse?.();
        answers.push(request);
        return {};
      },
    },
  );
  return { answers, server };
}

const wholly = [
  { info: input, data: Buffer.from('{"path": "n.txt"}') },
  { info: preview, data: Buffer.from(diff) },
];

const approvals = (args: readonly string[], io: FakeIo = fakeIo()) => heddle(["approvals", ...args], io);

/** Types the line whenever somebody listens, and late enough to have read what is asked. */
function typing(io: FakeIo, line: string): FakeIo {
  const clock = vi.spyOn(performance, "now");
  io.stdin.onListen = () => {
    const asked = performance.now();
    queueMicrotask(() => {
      io.stdin.types("y\n"); // Typed before it was asked.
      clock.mockReturnValue(asked + 300);
      io.stdin.types(line);
      clock.mockRestore();
    });
  };
  return io;
}

describe("the list", () => {
  const other = waiting({ id: "ffffffff-0000-4000-8000-000000000001", title: "Delete\u001b[2J", approval: undefined });

  test("all pages: what, why, since when and until when, and the ids", async () => {
    const { server } = serving({ calls: [waiting(), other] });
    await using at = await server;
    const { code, stdout, stderr } = await approvals(["--server", at.url]);
    expect(code).toBe(0);
    expect(stdout).toBe(`? Write file: Writing n.txt (1 line)
  Policy asks before files are changed; asked 3 min ago, expires in 57 min
  call ${id}  thread ${threadId}
? Delete\\u{1b}[2J: Writing n.txt (1 line)
  never expires
  call ${other.id}  thread ${threadId}
`);
    expect(stderr).toBe(`Look at one with: heddle approvals show <call> --server ${at.url}\n`);
  });

  test("--json: a ToolCall a line, and nothing else", async () => {
    const { server } = serving({ calls: [waiting(), other] });
    await using at = await server;
    const { stdout, stderr } = await approvals(["--json", "--server", at.url]);
    const read = stdout
      .trim()
      .split("\n")
      .map((line) => fromJsonString(ToolCallSchema, line));
    expect(read.map((call) => call.id)).toEqual([id, other.id]);
    expect(stderr).toBe("");
  });

  test("nothing waits: said, and no failure", async () => {
    const { server } = serving({ calls: [] });
    await using at = await server;
    expect(await approvals(["--server", at.url])).toEqual({
      code: 0,
      stdout: "",
      stderr: "Nothing waits for a yes.\n",
    });
  });
});

describe("show", () => {
  const shown = `Write file  waits for a yes
  summary    Writing n.txt (1 line)
  reason     Policy asks before files are changed
  asked      DATE, 3 min ago
  expires    DATE, in 57 min
  bound to   SHA-256 ${sha256.toString("hex")} of tool, input, workspace and preview
  tool       write_file, edit
  call       ${id}
  thread     ${threadId}
  run        11111111-1111-4111-8111-111111111111
  input      application/json, 20 bytes
    {"path": "n.txt"}
  preview    text/x-diff, 90 bytes
    --- a/n.txt
    +++ b/n.txt
    @@ -1 +1 @@
    -old
    +new\\u{1b}[2J\\u{202e}\\u{200d}\\u{a0}.\\r
    \\ No newline at end of file
`;
  const undated = (text: string) => text.replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "DATE");

  test.each([
    ["with its verb", ["show", id]],
    ["without", [id]],
    ["by the beginning of its id", ["show", "0d4f"]],
    ["in capitals", [id.toUpperCase()]],
  ])("everything there is, and nothing that acts on the terminal: %s", async (_, args) => {
    const { server } = serving();
    await using at = await server;
    const { code, stdout, stderr } = await approvals(["--server", at.url, ...args]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(undated(stdout)).toBe(`${shown}
Answer with: heddle approvals allow ${id} --server ${at.url}
         or: heddle approvals deny ${id} --reason "…" --server ${at.url}
`);
  });

  test("a body that is too large to come along is read to its end", async () => {
    const { server } = serving({ inline: wholly.slice(0, 1) });
    await using at = await server;
    const { stdout } = await approvals(["show", id, "--server", at.url]);
    expect(undated(stdout)).toContain(shown);
  });

  test("a diff has colours on a terminal, and only those", async () => {
    const { server } = serving();
    await using at = await server;
    const { stdout } = await approvals(["show", id, "--server", at.url], fakeIo({ isTTY: true }));
    expect(stdout).toContain("\u001b[31m-old\u001b[39m\n");
    expect(stdout).toContain("\u001b[32m+new\\u{1b}[2J");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what it must not hold.
    expect(stdout.replace(/\u001b\[\d+m/g, "")).not.toMatch(/[\u001b\r\u202e\u200d]/);
  });

  test("one that is over: what became of it, and no answers to give", async () => {
    const call = waiting({
      state: ToolCallState.OVER,
      outcome: ToolCallOutcome.DENIED,
      completeSummary: "Denied: not today",
      approval: { ...approval(), resolveTime: timestampFromMs(0), resolvedBy: "ada", resolveReason: "not today" },
    });
    const { server } = serving({ calls: [call] });
    await using at = await server;
    const { stdout } = await approvals(["show", id, "--server", at.url]);
    expect(stdout).toMatch(/^Write file {2}denied\n/);
    expect(undated(stdout)).toContain("  answered   DATE, denied, by ada, not today\n");
    expect(stdout).not.toContain("Answer with");
  });
});

describe("an answer", () => {
  test("allow shows what it is for, and names its hash and who said so", async () => {
    const { server, answers } = serving();
    await using at = await server;
    const { code, stdout } = await approvals(["allow", "0d4f5c1e", "--server", at.url]);
    expect(code).toBe(0);
    expect(stdout).toContain("    +new\\u{1b}[2J");
    expect(stdout).toMatch(/\nAllowed: Write file: Writing n\.txt \(1 line\)\n$/);
    expect(answers).toMatchObject([
      {
        toolCallId: id,
        decision: Decision.ALLOWED,
        reason: "",
        resolvedBy: expect.stringMatching(/ \(heddle approvals\)$/),
      },
    ]);
    expect(Buffer.from(answers[0]!.approvalSha256)).toEqual(sha256);
  });

  test("deny has a reason, and asks nobody", async () => {
    const { server, answers } = serving();
    await using at = await server;
    const io = fakeIo({ isTTY: true });
    const { code, stdout } = await approvals(["deny", id, "--reason", "not today", "--server", at.url], io);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Denied: Write file: Writing n.txt (1 line)\n" });
    expect(answers).toMatchObject([{ decision: Decision.DENIED, reason: "not today" }]);
  });

  test.each([
    ["yes", "y\n", 0, 1],
    ["no", "n\n", 1, 0],
    ["nothing", "\n", 1, 0],
  ])("on a terminal allow asks once more: %s", async (_, line, code, count) => {
    const { server, answers } = serving();
    await using at = await server;
    const result = await approvals(["allow", id, "--server", at.url], typing(fakeIo({ isTTY: true }), line));
    expect([result.code, answers.length]).toEqual([code, count]);
    if (code === 1) expect(result.stderr).toBe("heddle: nothing was answered: the call goes on waiting\n");
  });

  test("with --yes it does not", async () => {
    const { server, answers } = serving();
    await using at = await server;
    const io = fakeIo({ isTTY: true });
    expect((await approvals(["allow", id, "--yes", "--server", at.url], io)).code).toBe(0);
    expect(answers).toHaveLength(1);
  });

  test("Ctrl-C at the question answers nothing", async () => {
    const { server, answers } = serving();
    await using at = await server;
    const io = fakeIo({ isTTY: true });
    io.stdin.onListen = () => queueMicrotask(() => io.signal("SIGINT"));
    expect((await approvals(["allow", id, "--server", at.url], io)).code).toBe(130);
    expect(answers).toEqual([]);
    expect(io.stdin.mode).toBeUndefined();
  });

  test.each([
    ["APPROVAL_NOT_PENDING", "it has been answered already", "the call has been answered by somebody else"],
    ["APPROVAL_NOT_PENDING", "it waited until its time was up", "the call waited until its time was up"],
    ["TOOL_CALL_OVER", "it is over", "the call is over"],
  ])("%s, because %s, is said with what to do next", async (reason, message, said) => {
    const refuse = () => {
      throw heddleError(Code.FailedPrecondition, reason, message);
    };
    const { server } = serving({ refuse });
    await using at = await server;
    const { code, stderr } = await approvals(["allow", id, "--server", at.url]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `heddle: ${said}: there is nothing to answer. See what became of it with heddle call ${id} --server ${at.url}\n`,
    });
  });

  test("APPROVAL_MISMATCH asks to look again", async () => {
    const refuse = () => {
      throw heddleError(Code.FailedPrecondition, "APPROVAL_MISMATCH", "another hash");
    };
    const { server } = serving({ refuse });
    await using at = await server;
    const { code, stderr } = await approvals(["deny", id, "--server", at.url]);
    expect(code).toBe(1);
    expect(stderr).toContain(`look at it again with heddle approvals show ${id} --server ${at.url}`);
  });

  test.each([
    ["is over", { state: ToolCallState.OVER }, "the call is over"],
    [
      "is allowed",
      { state: ToolCallState.APPROVED, approval: { resolveTime: timestampFromMs(0) } },
      "answered already",
    ],
    ["was never asked for", { state: ToolCallState.RUNNING, approval: undefined }, "does not wait for an answer"],
  ])("a call that %s is not answered", async (_, fields, said) => {
    const { server, answers } = serving({ calls: [waiting(fields)] });
    await using at = await server;
    const { code, stderr } = await approvals(["allow", id, "--server", at.url]);
    expect(code).toBe(1);
    expect(stderr).toContain(said);
    expect(answers).toEqual([]);
  });
});

describe("which call", () => {
  const twins = [waiting(), waiting({ id: id.replace(/.$/, "d") })];

  test("a beginning that several have is not enough: it names them", async () => {
    const { server, answers } = serving({ calls: twins });
    await using at = await server;
    const { code, stderr } = await approvals(["allow", "0d4f5c", "--server", at.url]);
    expect(code).toBe(2);
    expect(stderr).toContain(`0d4f5c begins the ids of 2 calls that wait: give more of it.\n  ${id}\n`);
    expect(answers).toEqual([]);
  });

  test.each([
    [
      "a beginning that none has",
      "abcd",
      3,
      "no call that waits for a yes begins with abcd: see which do with heddle approvals",
    ],
    ["an id that is unknown", "aaaaaaaa-8c1b-4a57-9a44-5a0f6d1f2b3c", 3, "There is no tool call aaaaaaaa"],
    ["too short a beginning", "0d4", 2, '"0d4" is neither show, allow or deny nor the id of a tool call'],
    ["a verb that is none", "approve\u001b", 2, '"approve\\u{1b}" is neither show, allow or deny'],
  ])("%s", async (_, given, code, said) => {
    const { server } = serving();
    await using at = await server;
    const result = await approvals(["--server", at.url, given]);
    expect(result.code).toBe(code);
    expect(result.stderr).toContain(said);
  });
});
