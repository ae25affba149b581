import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";
import { ContentRole } from "../../gen/heddle/v1/content_pb.js";
import {
  type ToolCall,
  ToolCallOutcome,
  ToolCallSchema,
  ToolCallState,
  ToolKind,
} from "../../gen/heddle/v1/tool_call_pb.js";
import { heddleError } from "../../src/client/resumable.js";
import { fakeIo, fakeServer, heddle } from "./support.js";

const id = "0d4f5c1e-8c1b-4a57-9a44-5a0f6d1f2b3c";
const time = (second: number) => timestampFromDate(new Date(2025, 5, 1, 9, 0, second));

const input = { contentId: "input", role: ContentRole.INPUT, mediaType: "application/json", sizeBytes: 22n };
const result = { contentId: "result", role: ContentRole.RESULT, mediaType: "", sizeBytes: 5_000_000n };

const call = (fields: object = {}) =>
  create(ToolCallSchema, {
    id,
    threadId: "7b0f2c4e-5a36-4d0e-9c3f-2f6f2b7b9a10",
    toolName: "bash",
    title: "Run a command",
    kind: ToolKind.EXECUTE,
    state: ToolCallState.OVER,
    outcome: ToolCallOutcome.FAILED,
    startedSummary: "Running npm test",
    completeSummary: "Two tests failed\u001b[2J",
    error: { kind: "tool_error", code: "1", message: "2 failed" },
    createTime: time(0),
    startTime: time(1),
    completeTime: time(3),
    duration: durationFromMs(2000),
    locations: [{ path: "/src/a.ts", line: 3 }],
    contents: [input, result],
    createdSequence: 4n,
    completedSequence: 9n,
    ...fields,
  });

const serving = (toolCall: ToolCall) =>
  fakeServer(
    {},
    {
      getToolCall: () => ({ toolCall, contents: [{ info: input, data: Buffer.from('{\n "command": "\u001b[0m"}') }] }),
      async *readToolCallContent({ contentId }) {
        if (contentId !== "result")
          throw heddleError(Code.NotFound, "CONTENT_NOT_FOUND", `there is no body ${contentId}`);
        yield { info: result, data: Buffer.from([0xff, 0x1b, 0x5b]) };
        yield { offset: 3n, data: Buffer.from("2J\n") };
      },
    },
  );

describe("heddle call", () => {
  test("shows what a person wants to know", async () => {
    await using server = await serving(call());
    const { code, stdout } = await heddle(["call", id, "--server", server.url]);
    expect(code).toBe(0);
    expect(stdout).toBe(`Run a command  failed
  doing      Running npm test
  summary    Two tests failed\\u{1b}[2J
  error      tool_error, 1, 2 failed
  exit code  unknown
  tool       bash, execute, built-in
  created    2025-06-01 09:00:00
  started    2025-06-01 09:00:01
  ended      2025-06-01 09:00:03
  took       2.0 s
  id         0d4f5c1e-8c1b-4a57-9a44-5a0f6d1f2b3c
  thread     7b0f2c4e-5a36-4d0e-9c3f-2f6f2b7b9a10
  events     4 – 9
  location   /src/a.ts:3
  input      application/json, 22 bytes
    {
     "command": "\\u{1b}[0m"}
  result     application/octet-stream, 4.8 MiB (--content result writes it)
`);
  });

  test("whether somebody was asked, and who answered what", async () => {
    await using allowed = await serving(call({ approval: { allowed: true, resolvedBy: "ada", resolveTime: time(1) } }));
    const { stdout } = await heddle(["call", id, "--server", allowed.url]);
    expect(stdout).toContain("  approval   allowed, by ada, 2025-06-01 09:00:01\n");
    await using waiting = await serving(call({ state: ToolCallState.AWAITING_APPROVAL, approval: {} }));
    const shown = await heddle(["call", id, "--server", waiting.url]);
    expect(shown.stdout).toContain(
      `  approval   waits for a yes: heddle approvals show ${id} --server ${waiting.url}\n`,
    );
  });

  test("an exit code is shown where there is one, and not missed where there cannot be one", async () => {
    await using known = await serving(call({ exitCode: 0 }));
    expect((await heddle(["call", id, "--server", known.url])).stdout).toContain("exit code  0\n");
    await using other = await serving(call({ kind: ToolKind.READ }));
    expect((await heddle(["call", id, "--server", other.url])).stdout).not.toContain("exit code");
    await using open = await serving(call({ state: ToolCallState.RUNNING }));
    expect((await heddle(["call", id, "--server", open.url])).stdout).toMatch(
      /^Run a command {2}running\n(?!.*exit code)/,
    );
  });

  test("what the model was told is named so, and the provider's own id stands beside ours", async () => {
    const model = { contentId: "model", role: ContentRole.MODEL_TEXT, mediaType: "text/plain", sizeBytes: 12n };
    await using server = await serving(
      call({ contents: [model], providerCallId: "call_1\u001b" } as Partial<ToolCall>),
    );
    const { stdout } = await heddle(["call", id, "--server", server.url]);
    expect(stdout).toContain(`  id         ${id}\n  provider   calls it call_1\\u{1b}\n`);
    expect(stdout).toContain(
      "  model      what the model was told, text/plain, 12 bytes (--content model writes it)\n",
    );
  });

  test("an error does not repeat the result", async () => {
    const completeSummary = "Interrupted: x went silent";
    const message = `${completeSummary}. Whether it had an effect is not known`;
    await using server = await serving(
      call({ completeSummary, error: { kind: "lost", message } } as Partial<ToolCall>),
    );
    expect((await heddle(["call", id, "--server", server.url])).stdout).toContain(
      `summary    ${completeSummary}\n  error      lost, Whether it had an effect is not known\n`,
    );
  });

  test("--json is the whole answer in one line", async () => {
    await using server = await serving(call());
    const { stdout } = await heddle(["call", id, "--json", "--server", server.url]);
    expect(stdout.split("\n")).toHaveLength(2);
    expect(JSON.parse(stdout)).toMatchObject({
      toolCall: { id, outcome: "TOOL_CALL_OUTCOME_FAILED" },
      contents: [{ info: { contentId: "input" } }],
    });
  });

  test("--content writes the bytes as they are; on a terminal, made safe", async () => {
    await using server = await serving(call());
    const args = ["call", id, "--content", "result", "--server", server.url];
    const pipe = fakeIo();
    await heddle(args, pipe);
    expect(pipe.stdout.bytes()).toEqual(Buffer.from([0xff, 0x1b, 0x5b, 0x32, 0x4a, 0x0a]));
    const terminal = fakeIo({ isTTY: true });
    await heddle(args, terminal);
    expect(terminal.stdout.text).toBe("\ufffd\\u{1b}[2J\n");
  });

  test("a body or a call that is not there ends with code 3", async () => {
    await using server = await serving(call());
    expect(await heddle(["call", id, "--content", "none", "--server", server.url])).toEqual({
      code: 3,
      stdout: "",
      stderr: "heddle: there is no body none\n",
    });
  });

  describe("--save", () => {
    const made = (contentId: string) => ({ contentId, role: ContentRole.PART, mediaType: "image/png", sizeBytes: 6n });
    const plot = made("file-1-plot.png");

    async function saving(contents: readonly ReturnType<typeof made>[], ...flags: string[]) {
      const parent = await mkdtemp(join(tmpdir(), "heddle-save-"));
      onTestFinished(() => rm(parent, { recursive: true, force: true }));
      const toolCall = call({ contents: [input, result, ...contents] });
      await using server = await fakeServer(
        {},
        {
          getToolCall: () => ({ toolCall, contents: [] }),
          async *readToolCallContent({ contentId }) {
            yield { info: plot, data: Buffer.from(`${contentId.length} `) };
            if (contentId.includes("broken")) throw heddleError(Code.DataLoss, "LOST", "the rest is lost");
            yield { offset: 3n, data: Buffer.from([0xff, 0x00]) };
          },
        },
      );
      const directory = join(parent, "made");
      const run = () => heddle(["call", id, "--save", directory, ...flags, "--server", server.url]);
      const ended = await run();
      const again = await run();
      const names = await readdir(directory).catch(() => []);
      return { ...ended, again, parent, directory, names };
    }

    test("saves all that the tool has made, byte for byte, and never writes over anything", async () => {
      const { code, stdout, again, directory, names } = await saving([plot, made("file-2-notes.txt")]);
      expect(code).toBe(0);
      expect(stdout).toBe(
        `saved ${directory}/file-1-plot.png (5 bytes)\nsaved ${directory}/file-2-notes.txt (5 bytes)\n`,
      );
      expect(names.sort()).toEqual(["file-1-plot.png", "file-2-notes.txt"]);
      expect(await readFile(join(directory, "file-1-plot.png"))).toEqual(Buffer.from("15 \xff\x00", "latin1"));
      expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("is there already") });
    });

    test("one body, whichever it is", async () => {
      const { names } = await saving([plot], "--content", "result");
      expect(names).toEqual(["result"]);
    });

    test.each(["../outside", "/etc/outside", "a/b", "..", ".hidden", "", "a\u0000b", "nul", "con.txt", "a."])(
      "a server's name %j leads nowhere",
      async (name) => {
        const { code, parent, names } = await saving([plot, made(name)]);
        expect(code).toBe(1);
        expect(names).toEqual([]);
        expect(await readdir(parent)).toEqual([]);
      },
    );

    test("a body that breaks off leaves no half of a file", async () => {
      const { code, names } = await saving([made("broken.bin")]);
      expect(code).not.toBe(0);
      expect(names).toEqual([]);
    });

    test("a call that has made nothing, or not this, ends with code 3", async () => {
      expect(await saving([])).toMatchObject({
        code: 3,
        stderr: "heddle: the call has made nothing that could be saved\n",
      });
      expect(await saving([plot], "--content", "none")).toMatchObject({ code: 3 });
    });
  });
});
