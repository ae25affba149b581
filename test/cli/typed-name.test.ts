// Started with npx, the program names itself so wherever it tells a person what to type.
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ThreadHolder_Kind, ThreadHolderSchema } from "../../gen/heddle/v1/error_pb.js";
import { refusalOf } from "../../src/cli/run-prompt-refusal.js";
import { newDataDir, removeDataDir } from "../support/server-process.js";
import { fakeIo, heddle } from "./support.js";

vi.mock("../../src/cli/program-name.js", () => ({ programName: "npx heddle" }));

let dataDir: string;
beforeAll(async () => {
  dataDir = await newDataDir();
});
afterAll(() => removeDataDir(dataDir));

const nameless = /(?<!npx )heddle (?:run|serve|follow|threads|approvals|call|index)\b/;

test.each([
  [["follow", "x"], '"npx heddle threads"'],
  [["call", "x"], '"npx heddle follow <thread>"'],
  [["approvals", "show", "x"], '"npx heddle approvals"'],
])("%j", async (args, expected) => {
  const { stderr } = await heddle(args);
  expect(stderr).toContain(expected);
  expect(stderr).not.toMatch(nameless);
});

test("a server's greeting", async () => {
  const io = fakeIo({ isTTY: true, env: { NO_COLOR: "1" } });
  io.stderr.onWrite = () => queueMicrotask(() => io.signal("SIGTERM"));
  const { stderr } = await heddle(["serve", "--listen", "127.0.0.1:0", "--data", dataDir, "--log-level", "warn"], io);
  expect(stderr.match(/npx heddle (?:run|follow|threads|serve)/g)).toHaveLength(4);
  expect(stderr).not.toMatch(nameless);
});

test("a thread that is busy", () => {
  const detail = { desc: ThreadHolderSchema, value: { kind: ThreadHolder_Kind.RUN, holderId: "r" } };
  const server = {
    place: { url: () => "http://127.0.0.1:9", token: undefined },
    isOwn: false,
    dataDir: undefined,
    where: {},
    close: async () => {},
  };
  const busy = new ConnectError("busy", Code.FailedPrecondition, undefined, [detail]);
  const { message } = refusalOf(busy, { server, flags: { thread: "t" } }).ending;
  expect(message).toContain('("npx heddle approvals")');
  expect(message).not.toMatch(nameless);
});
