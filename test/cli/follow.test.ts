import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { SequenceRangeSchema } from "../../gen/heddle/v1/error_pb.js";
import { Closing_Reason } from "../../gen/heddle/v1/event_pb.js";
import { heddleError } from "../../src/client/resumable.js";
import { caughtUp, closing, entry, ready, silence, some, threadId, upTo } from "../client/support.js";
import { fakeIo, fakeServer, heddle } from "./support.js";

const sequencesOf = (stdout: string) =>
  stdout
    .trim()
    .split("\n")
    .map((line) => Number(JSON.parse(line).sequence ?? 0));

test("prints a line per entry and ends at the head with --no-follow", async () => {
  await using server = await fakeServer({ streamThreadEvents: (request) => some(3, request, 99) });
  const { code, stdout, stderr } = await heddle(["follow", threadId, "--no-follow", "--server", server.url]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout.split("\n")).toEqual([
    "--:--:--.---      1  … text        piece 1",
    "--:--:--.---      2  … text        piece 2",
    "--:--:--.---      3  … text        piece 3",
    "",
  ]);
});

test("--json prints proto3 JSON, with control frames only where --control asks for them", async () => {
  await using server = await fakeServer({ streamThreadEvents: (request) => some(3, request, 99) });
  const args = ["follow", threadId.toUpperCase(), "--no-follow", "--json", "--after", "2", "--server", server.url];
  const { stdout } = await heddle(args);
  expect(JSON.parse(stdout)).toEqual({
    threadId,
    sequence: "3",
    messageDelta: { messageId: threadId, text: "piece 3" },
  });
  const all = await heddle([...args, "--control"]);
  expect(
    all.stdout
      .trim()
      .split("\n")
      .map((line) => Object.keys(JSON.parse(line)).at(-1)),
  ).toEqual(["ready", "messageDelta", "caughtUp"]);
});

test("S1: goes on exactly after cuts, and says so once per outage", async () => {
  let cuts = 0;
  await using server = await fakeServer({
    async *streamThreadEvents(request) {
      if (request.afterSequence === 2n && cuts++ < 2) server.cut();
      yield* some(6, request, 1);
      if (request.afterSequence < 5n) yield closing(Closing_Reason.SHUTDOWN);
    },
  });
  const { code, stdout, stderr } = await heddle(["follow", threadId, "--no-follow", "--json", "--server", server.url]);
  expect(sequencesOf(stdout)).toEqual(upTo(6));
  expect(code).toBe(0);
  // Closing is followed by a stream that opens at the first try; only the two cuts in a row are an outage.
  expect(stderr.replace(/ \(.*\)/, "")).toBe("heddle: connection lost; trying again\nheddle: connected again\n");
});

test("a gap is an error", async () => {
  await using server = await fakeServer({
    async *streamThreadEvents() {
      yield ready(3);
      yield entry(1);
      yield entry(3);
      yield caughtUp(3);
    },
  });
  const { code, stderr } = await heddle(["follow", threadId, "--no-follow", "--server", server.url]);
  expect({ code, stderr }).toEqual({ code: 1, stderr: "heddle: the server sent entry 3 where 2 is next\n" });
});

describe("ends that are not tried again", () => {
  test.each([
    [heddleError(Code.NotFound, "THREAD_NOT_FOUND", "there is no such thread"), 3, "there is no such thread"],
    [heddleError(Code.NotFound, "THREAD_DELETED", "gone"), 3, "the thread was deleted"],
    [heddleError(Code.OutOfRange, "SEQUENCE_OUT_OF_RANGE", "beyond the head, 5"), 1, "beyond the head, 5"],
    [
      heddleError(Code.Unauthenticated, "UNAUTHENTICATED", "a token is required"),
      5,
      "a token is required (set HEDDLE_TOKEN, or give --token)",
    ],
    [heddleError(Code.PermissionDenied, "PERMISSION_DENIED", "no\u001b[2J"), 5, "no\\u{1b}[2J"],
  ])("%s ends with code %d", async (error, expected, message) => {
    await using server = await fakeServer({
      // biome-ignore lint/correctness/useYield: the error comes instead of the first frame.
      async *streamThreadEvents() {
        throw error;
      },
    });
    const { code, stderr, stdout } = await heddle(["follow", threadId, "--server", server.url]);
    expect({ code, stderr, stdout }).toEqual({ code: expected, stderr: `heddle: ${message}\n`, stdout: "" });
  });

  test.each([
    [7n, "--after 99 is beyond the newest event, 7"],
    [0n, "--after 99 is beyond the end: the thread has no events yet"],
  ])("a position beyond the head, %d, is said in the flag's words", async (headSequence, message) => {
    await using server = await fakeServer({
      // biome-ignore lint/correctness/useYield: the error comes instead of the first frame.
      async *streamThreadEvents() {
        throw new ConnectError("after_sequence is beyond the head", Code.OutOfRange, undefined, [
          { desc: SequenceRangeSchema, value: { headSequence, firstSequence: 1n } },
        ]);
      },
    });
    const { code, stderr } = await heddle(["follow", threadId, "--after", "99", "--server", server.url]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: `heddle: ${message}\n` });
  });

  test("storage that fails behind the first frame, where the end is what was asked for", async () => {
    const message = "The server cannot read or write its storage";
    await using server = await fakeServer({
      async *streamThreadEvents() {
        yield ready(3);
        yield entry(1);
        throw heddleError(Code.Unavailable, "STORAGE_FAILED", message);
      },
    });
    const { code, stderr } = await heddle(["follow", threadId, "--no-follow", "--server", server.url]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: `heddle: ${message}\n` });
  });

  test("deleted while it is followed", async () => {
    await using server = await fakeServer({
      async *streamThreadEvents() {
        yield ready(0);
        yield closing(Closing_Reason.THREAD_DELETED);
      },
    });
    expect(await heddle(["follow", threadId, "--server", server.url])).toMatchObject({
      code: 3,
      stderr: "heddle: the thread was deleted\n",
    });
  });

  test("a server that is not there", async () => {
    const server = await fakeServer({});
    await server[Symbol.asyncDispose]();
    const { code, stderr } = await heddle(["follow", threadId, "--server", server.url]);
    expect(code).toBe(4);
    expect(stderr).toMatch(
      new RegExp(`^heddle: cannot reach the server at ${server.url}: connect ECONNREFUSED .*"heddle serve"`),
    );
  });
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("%s ends it quietly with %d", async (name, expected) => {
  await using server = await fakeServer({
    async *streamThreadEvents(request, context) {
      yield* some(1, request, 1);
      await silence(context);
    },
  });
  const io = fakeIo();
  io.stdout.onWrite = () => io.signal(name);
  const { code, stderr } = await heddle(["follow", threadId, "--server", server.url], io);
  expect({ code, stderr }).toEqual({ code: expected, stderr: "" });
});

test("a reader that leaves ends it quietly", async () => {
  await using server = await fakeServer({ streamThreadEvents: (request) => some(1000, request, 1000) });
  const io = fakeIo();
  io.stdout.onWrite = () => {
    if (io.stdout.text !== "") throw Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
  };
  const { code, stderr } = await heddle(["follow", threadId, "--server", server.url], io);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

describe("the token", () => {
  const token = "a-token-of-some-length";
  const refusing = () =>
    fakeServer({
      // biome-ignore lint/correctness/useYield: the error comes instead of the first frame.
      async *streamThreadEvents() {
        throw new ConnectError("no", Code.Unauthenticated);
      },
    });

  test("comes from HEDDLE_TOKEN, a flag beats it, and neither is printed", async () => {
    await using server = await refusing();
    const env = { HEDDLE_TOKEN: token, HEDDLE_SERVER: server.url };
    const first = await heddle(["follow", threadId], fakeIo({ env }));
    const second = await heddle(["follow", threadId, "--token", `${token}-2`], fakeIo({ env }));
    expect(server.authorizations).toEqual([`Bearer ${token}`, `Bearer ${token}-2`]);
    expect(`${first.stdout}${first.stderr}${second.stdout}${second.stderr}`).not.toContain(token);
  });

  test("is not sent when there is none", async () => {
    await using server = await refusing();
    await heddle(["follow", threadId], fakeIo({ env: { HEDDLE_SERVER: server.url, HEDDLE_TOKEN: "" } }));
    expect(server.authorizations).toEqual([null]);
  });
});
