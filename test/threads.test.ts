// The verbs about threads and calls that every door uses.
import { describe, expect, test } from "vitest";
import { ThreadState } from "../gen/heddle/v1/thread_service_pb.js";
import { newId } from "../src/thread/ids.js";
import { parseAfter } from "../src/tool-calls.js";
import { openProducer, useCores } from "./support/core.js";
import { RunScript } from "./support/scenario.js";

const core = useCores();
const blank = { threadId: "", title: "", labels: {} };

describe("threads", () => {
  test("are made once for each id, with a clean title", async () => {
    const { threads } = core();
    const threadId = newId();
    const made = await threads.create({ threadId, title: "two\nlines", labels: { team: "loom" } });
    expect(made).toMatchObject({
      id: threadId,
      title: "two lines",
      labels: { team: "loom" },
      headSequence: 0n,
      state: ThreadState.IDLE,
    });
    expect(await threads.create({ threadId, title: "another", labels: {} })).toEqual(made);
  });

  test("L7: a deleted id is retired: not found, never made again, and deleting it again does nothing", async () => {
    const heddle = core();
    const { id } = await heddle.threads.create(blank);
    const producer = await openProducer(heddle, { threadId: id });
    const run = new RunScript();
    const callId = newId();
    await producer.record([run.started(), ...run.wholeCall(callId), run.completed()]);
    await producer.close();
    await heddle.threads.delete(id);
    await heddle.threads.delete(id);
    await expect(heddle.threads.get(id)).rejects.toMatchObject({ code: "thread_deleted" });
    await expect(heddle.threads.create({ ...blank, threadId: id })).rejects.toMatchObject({
      code: "thread_id_retired",
    });
    await expect(
      heddle.threads.openRecording(id, { producer: "x", leaseMs: undefined, takeOver: false }),
    ).rejects.toMatchObject({ code: "thread_deleted" });
    await expect(heddle.toolCalls.get(callId)).rejects.toMatchObject({ code: "tool_call_not_found" });
    await expect(heddle.threads.delete(newId())).rejects.toMatchObject({ code: "thread_not_found" });
  });

  test("are listed page by page, each once, in order", async () => {
    const { threads } = core();
    const ids = await Promise.all(Array.from({ length: 25 }, async () => (await threads.create(blank)).id));
    const listed: string[] = [];
    for (let after = ""; ; ) {
      const page = await threads.list({ pageSize: 10, after });
      expect(page.threads.length).toBeLessThanOrEqual(10);
      listed.push(...page.threads.map(({ id }) => id));
      after = page.nextAfter;
      if (!after) break;
    }
    expect(listed).toEqual([...ids].sort());
    await expect(threads.list({ pageSize: 0, after: "x" })).rejects.toMatchObject({ detail: { field: "page_token" } });
  });

  test("show what is open in them", async () => {
    const heddle = core();
    const producer = await openProducer(heddle);
    const run = new RunScript();
    const id = newId();
    await producer.record([run.started(), run.created(id)]);
    expect(await heddle.threads.get(producer.threadId)).toMatchObject({
      state: ThreadState.RUNNING,
      runId: run.runId,
      openToolCalls: 1,
      headSequence: 2n,
    });
    await producer.record([run.event({ case: "runSuspended", value: { reason: 1, openToolCallIds: [id] } })]);
    expect(await heddle.threads.get(producer.threadId)).toMatchObject({ state: ThreadState.SUSPENDED });
  });

  test.each([
    ["thread_id", { ...blank, threadId: "ABC" }],
    ["labels", { ...blank, labels: { "": "x" } }],
    ["labels", { ...blank, labels: { x: "y".repeat(257) } }],
    ["labels", { ...blank, labels: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`l${n}`, ""])) }],
  ])("with a wrong %s are refused by name", async (field, request) => {
    await expect(core().threads.create(request)).rejects.toMatchObject({ code: "invalid_field", detail: { field } });
  });

  test.each([
    ["producer", { producer: "\n", leaseMs: undefined }],
    ["lease_duration", { producer: "x", leaseMs: 1 }],
    ["lease_duration", { producer: "x", leaseMs: 3_600_000 }],
    ["lease_duration", { producer: "x", leaseMs: Number.NaN }],
  ])("are not given to a producer with a wrong %s", async (field, request) => {
    const { threads } = core();
    const { id } = await threads.create(blank);
    await expect(threads.openRecording(id, { ...request, takeOver: false })).rejects.toMatchObject({
      detail: { field },
    });
  });
});

describe("tool calls", () => {
  test("are listed in the order they were created, page by page", async () => {
    const heddle = core();
    const producer = await openProducer(heddle);
    const run = new RunScript();
    const ids = Array.from({ length: 7 }, () => newId());
    await producer.record([run.started(), ...ids.flatMap((id) => run.wholeCall(id))]);
    const first = await heddle.toolCalls.list({ threadId: producer.threadId, pageSize: 5, after: 0n });
    const second = await heddle.toolCalls.list({ threadId: producer.threadId, pageSize: 5, after: first.nextAfter });
    expect([...first.calls, ...second.calls].map(({ id }) => id)).toEqual(ids);
    expect(second.nextAfter).toBe(0n);
    await expect(heddle.toolCalls.list({ threadId: newId(), pageSize: 5, after: 0n })).rejects.toMatchObject({
      code: "thread_not_found",
    });
  });

  test("unknown calls, bodies and offsets are distinct errors", async () => {
    const heddle = core();
    const producer = await openProducer(heddle);
    const run = new RunScript();
    const id = newId();
    await producer.record([run.started(), ...run.wholeCall(id)]);
    await expect(heddle.toolCalls.get("x")).rejects.toMatchObject({ code: "invalid_field" });
    await expect(heddle.toolCalls.get(newId())).rejects.toMatchObject({ code: "tool_call_not_found" });
    const read = (contentId: string, offset: bigint) =>
      heddle.toolCalls.readContent({ toolCallId: id, contentId, offset }).next();
    await expect(read("result", 0n)).rejects.toMatchObject({ code: "content_not_found" });
  });

  test("a page token that is not ours is refused", () => {
    expect(parseAfter("12")).toBe(12n);
    for (const token of ["-1", "x", "1e3", "99999999999999999999"])
      expect(() => parseAfter(token)).toThrow("page_token");
  });
});
