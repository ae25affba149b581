import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import { type Thread, ThreadSchema, ThreadState } from "../../gen/heddle/v1/thread_service_pb.js";
import { silence } from "../client/support.js";
import { fakeIo, fakeServer, heddle } from "./support.js";

const thread = (n: number, fields: Partial<Thread> = {}) =>
  create(ThreadSchema, {
    id: `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`,
    title: `thread ${n}`,
    state: ThreadState.IDLE,
    headSequence: BigInt(n),
    createTime: timestampFromDate(new Date(2025, 5, 1, 9, 5, 0)),
    ...(fields as object),
  });

/** Two threads a page. */
const paged = (threads: Thread[]) =>
  fakeServer({
    listThreads({ pageToken }) {
      const start = Number(pageToken);
      const next = start + 2 < threads.length ? String(start + 2) : "";
      return { threads: threads.slice(start, start + 2), nextPageToken: next };
    },
  });

describe("heddle threads", () => {
  test("lists all pages in columns", async () => {
    const running = { state: ThreadState.RUNNING, openToolCalls: 2, title: "tests\u001b[2J" };
    await using server = await paged([thread(1), thread(2, running), thread(123456789)]);
    const { code, stdout } = await heddle(["threads", "--server", server.url]);
    expect(code).toBe(0);
    expect(stdout.split("\n")).toEqual([
      "ID                                    STATE          HEAD  OPEN  CREATED              TITLE",
      "00000000-0000-4000-8000-000000000001  idle              1     0  2025-06-01 09:05:00  thread 1",
      "00000000-0000-4000-8000-000000000002  running           2     2  2025-06-01 09:05:00  tests\\u{1b}[2J",
      "00000000-0000-4000-8000-000123456789  idle       123456789     0  2025-06-01 09:05:00  thread 123456789",
      "",
    ]);
  });

  test("--limit stops early, --json prints a message a line", async () => {
    await using server = await paged([1, 2, 3, 4, 5].map((n) => thread(n)));
    const { stdout } = await heddle(["threads", "--limit", "3", "--json", "--server", server.url]);
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).title),
    ).toEqual(["thread 1", "thread 2", "thread 3"]);
  });

  test.each([
    [100, "ID STATE HEAD OPEN CREATED TITLE"],
    [99, "ID STATE HEAD OPEN TITLE"],
    [80, "ID STATE HEAD OPEN TITLE"],
    [78, "ID STATE HEAD TITLE"],
    [72, "ID STATE TITLE"],
    [40, "ID STATE TITLE"],
  ])("a terminal of %d columns gets those that fit, and nothing of them is cut", async (columns, headings) => {
    const title = "t".repeat(200);
    await using server = await paged([thread(1, { title })]);
    const io = fakeIo({ isTTY: true, columns, env: { NO_COLOR: "1" } });
    const { stdout } = await heddle(["threads", "--server", server.url], io);
    const [head, row] = stdout.split("\n");
    expect(head!.split(/ +/).join(" ")).toBe(headings);
    expect(row).toMatch(new RegExp(`^${thread(1).id}  idle .*  ${title}$`));
    expect(row!.indexOf(title)).toBe(head!.indexOf("TITLE"));
  });

  test("Ctrl-C while it waits for an answer ends it quietly", async () => {
    const io = fakeIo();
    await using server = await fakeServer({
      listThreads: (_, context) => {
        io.signal("SIGINT");
        return silence(context);
      },
    });
    expect(await heddle(["threads", "--server", server.url], io)).toEqual({ code: 130, stdout: "", stderr: "" });
  });

  test("none at all is said on standard error", async () => {
    await using server = await paged([]);
    expect(await heddle(["threads", "--server", server.url])).toEqual({
      code: 0,
      stdout: "",
      stderr: "There are no threads yet.\n",
    });
    expect(await heddle(["threads", "--json", "--server", server.url])).toEqual({ code: 0, stdout: "", stderr: "" });
  });
});
