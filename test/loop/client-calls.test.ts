// Calls that clients run: started for whoever claims them, claimed once, reported on by whoever holds them, and over once.
import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { openMemoryLog } from "../../src/log/memory.js";
import {
  ApprovalDecision,
  ContentRole,
  Executor,
  RunOptionsSchema,
  RunOutcome,
  SuspendReason,
  ToolCallOutcome,
  ToolKind,
  ToolPolicy,
  WireThreadState,
} from "../../src/thread/schema.js";
import { called, cases, isCase, replies, said, send, tool, until, valuesOf } from "../support/agent.js";
import { declared, executor, tokens } from "../support/client-tools.js";
import { type Core, type CoreOptions, ManualClock, storedEvents, useCores } from "../support/core.js";
import { checkLog } from "./log-rules.js";
import { MortalCore } from "./mortal-core.js";

const core = useCores();
const end = (core: Core, threadId: string) => until(core, threadId, isCase("runCompleted"));

/** A run that waits for a client: its one call is of a tool that the thread declares. */
async function waiting(options: CoreOptions = {}, { input = { url: "https://example.com" }, tools = [openPage] } = {}) {
  const model = replies(called({ name: "open_page", input }), said("Done"));
  const waiting = core({ model, ...options });
  const { id } = await waiting.threads.create({ threadId: "", title: "", labels: {}, clientTools: tools });
  const sent = await send(waiting, { threadId: id });
  const events = await until(waiting, id, isCase("runSuspended"));
  const [started] = valuesOf(events, "toolCallStarted");
  return { core: waiting, ...sent, model, events, toolCallId: started!.toolCallId, started: started! };
}

const openPage = declared("open_page", {
  title: "Open a page",
  kind: ToolKind.READ,
  summaryTemplate: "Opening {url}",
  inputSchemaJson: JSON.stringify({ type: "object", required: ["url"], properties: { url: { type: "string" } } }),
});

describe("a call that a client runs", () => {
  test("is started with a summary alone, and its run waits", async () => {
    const { core, events, started, threadId } = await waiting();
    expect(cases(events).slice(-4)).toEqual([
      "toolCallInputDelta",
      "toolCallInputCompleted",
      "toolCallStarted",
      "runSuspended",
    ]);
    expect(started).toMatchObject({ summary: "Opening https://example.com", executor: Executor.CLIENT });
    expect(started.claimExpireTime).toBeDefined();
    expect(valuesOf(events, "toolCallCreated")).toMatchObject([
      { toolName: "open_page", title: "Open a page", kind: ToolKind.READ, source: { source: { case: "client" } } },
    ]);
    expect(valuesOf(events, "runSuspended")).toMatchObject([{ reason: SuspendReason.CLIENT_TOOL }]);
    expect(await core.threads.get(threadId)).toMatchObject({
      state: WireThreadState.SUSPENDED,
      openToolCalls: 1,
      offeredToolCalls: 1,
    });
    expect(core.runs.active).toBe(0);
  });

  test("is claimed, reported on and completed, and the run goes on with its result", async () => {
    const { core, threadId, toolCallId, model } = await waiting();
    const client = executor(core, toolCallId);
    await client.claim();
    await client.print("loading\n");
    await client.progress("half", 1);
    await client.complete({ title: "An example" }, "Opened the page");
    const events = await end(core, threadId);
    expect(cases(events.slice(events.findIndex(isCase("toolCallStarted"))))).toEqual([
      "toolCallStarted",
      "runSuspended",
      "toolCallClaimed",
      "toolCallOutputDelta",
      "toolCallProgress",
      "toolCallComplete",
      "runResumed",
      "messageCreated",
      "messageDelta",
      "messageCompleted",
      "runCompleted",
    ]);
    expect(valuesOf(events, "toolCallClaimed")).toMatchObject([{ executorName: "a laptop" }]);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.SUCCEEDED, success: true, summary: "Opened the page", toolName: "open_page" },
    ]);
    expect(model.requests[1]!.messages.at(-1)).toMatchObject({
      role: "tool",
      text: '{"title":"An example"}',
      isError: false,
    });
    const { call, contents } = await core.toolCalls.get(toolCallId);
    expect(call).toMatchObject({ executor: Executor.CLIENT, claim: { executorName: "a laptop" } });
    expect(contents.map(({ info }) => info.contentId).sort()).toEqual(["input", "result"]);
    checkLog(events);
  });

  test("is refused before anybody sees it when its input does not fit", async () => {
    const model = replies(called({ name: "open_page", input: { url: 7 } }), said("Done"));
    const refusing = core({ model });
    const { id } = await refusing.threads.create({ threadId: "", title: "", labels: {}, clientTools: [openPage] });
    await send(refusing, { threadId: id });
    const [complete] = valuesOf(await end(refusing, id), "toolCallComplete");
    expect(complete).toMatchObject({ outcome: ToolCallOutcome.REJECTED, error: { kind: "invalid_input" } });
    expect(complete?.error?.message).toContain("url");
  });

  test("beside calls of the server: each ends by itself, and the run goes on when all have", async () => {
    const model = replies(called({ name: "open_page", input: { url: "a" } }, { name: "quick" }), said("Done"));
    const both = core({ model, tools: [tool("quick")] });
    const { id } = await both.threads.create({ threadId: "", title: "", labels: {}, clientTools: [openPage] });
    await send(both, { threadId: id });
    const events = await until(both, id, isCase("runSuspended"));
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ toolName: "quick" }]);
    const { toolCallId } = valuesOf(events, "toolCallStarted").find(({ executor }) => executor === Executor.CLIENT)!;
    const client = executor(both, toolCallId);
    await client.claim();
    await client.complete();
    checkLog(await end(both, id));
  });

  test("two of them: the run is not woken up for the first", async () => {
    const twice = [
      { name: "open_page", input: { url: "a" } },
      { name: "open_page", input: { url: "b" } },
    ];
    const two = core({ model: replies(called(...twice), said("Done")) });
    const { id } = await two.threads.create({ threadId: "", title: "", labels: {}, clientTools: [openPage] });
    await send(two, { threadId: id });
    const events = await until(two, id, isCase("runSuspended"));
    for (const { toolCallId } of valuesOf(events, "toolCallStarted")) {
      await executor(two, toolCallId).claim();
      await executor(two, toolCallId).complete();
    }
    const all = await end(two, id);
    expect(cases(all).filter((name) => name === "runResumed")).toHaveLength(1);
    checkLog(all);
  });

  test("in order: the next one is offered when the last one is over", async () => {
    const calls = [
      { name: "open_page", input: { url: "a" } },
      { name: "open_page", input: { url: "b" } },
    ];
    const ordered = core({ model: replies(called(...calls), said("Done")) });
    const { id } = await ordered.threads.create({ threadId: "", title: "", labels: {}, clientTools: [openPage] });
    await send(ordered, { threadId: id, options: create(RunOptionsSchema, { parallelToolCalls: false }) });
    for (const nth of [1, 2]) {
      let seen = 0;
      const events = await until(ordered, id, (event) => isCase("runSuspended")(event) && ++seen === nth);
      const { toolCallId } = valuesOf(events, "toolCallStarted").at(-1)!;
      await executor(ordered, toolCallId).claim();
      await executor(ordered, toolCallId).complete();
    }
    checkLog(await end(ordered, id));
  });
});

describe("claims", () => {
  test("of two claimers one wins, and the other is told who", async () => {
    const { core, toolCallId } = await waiting();
    const tries = await Promise.allSettled([
      executor(core, toolCallId, tokens.ours).claim(),
      executor(core, toolCallId, tokens.theirs).claim(),
    ]);
    expect(tries.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const lost = tries.find((one) => one.status === "rejected");
    expect(lost?.reason).toMatchObject({ code: "tool_call_claimed", detail: { executorName: "a laptop" } });
  });

  test("the winner may ask again: a lost answer loses no claim", async () => {
    const { core, toolCallId, threadId } = await waiting();
    const client = executor(core, toolCallId);
    await client.claim();
    await expect(client.claim()).resolves.toMatchObject({ claimToken: tokens.ours });
    expect(valuesOf(await storedEvents(core, threadId), "toolCallClaimed")).toHaveLength(1);
  });

  test("what does not wait for a client cannot be claimed", async () => {
    const { toolCalls, executorCalls, ...rest } = core({
      model: replies(called({ name: "change" }), said("Done")),
      tools: [tool("change", undefined, { kind: "edit" })],
    });
    const asking = { toolCalls, executorCalls, ...rest } as Core;
    const { threadId } = await send(asking);
    const [asked] = valuesOf(await until(asking, threadId, isCase("runSuspended")), "toolCallApprovalRequested");
    await expect(executor(asking, asked!.toolCallId).claim()).rejects.toMatchObject({ code: "tool_call_not_offered" });
  });

  test.each([
    ["a claim", (client: ReturnType<typeof executor>) => client.claim()],
    ["output", (client: ReturnType<typeof executor>) => client.print("x")],
    ["a renewal", (client: ReturnType<typeof executor>) => client.renew()],
    ["an end", (client: ReturnType<typeof executor>) => client.complete()],
  ])("%s that comes late is refused, and changes nothing", async (_, late) => {
    const { core, toolCallId, threadId } = await waiting();
    const client = executor(core, toolCallId);
    await client.claim();
    await client.complete();
    const before = await end(core, threadId);
    await expect(late(client)).rejects.toMatchObject({ code: "tool_call_over" });
    expect(await storedEvents(core, threadId)).toHaveLength(before.length);
  });

  test.each(["unclaimed", "claimed"] as const)("foreign reports on a call that is %s are refused", async (state) => {
    const { core, toolCallId, threadId } = await waiting();
    if (state === "claimed") await executor(core, toolCallId).claim();
    const before = (await storedEvents(core, threadId)).length;
    const stranger = executor(core, toolCallId, tokens.theirs);
    for (const work of [stranger.print("x"), stranger.renew(), stranger.complete()])
      await expect(work).rejects.toMatchObject({ code: "claim_mismatch" });
    expect(await storedEvents(core, threadId)).toHaveLength(before);
  });

  test("a report whose number was taken is answered, and stored once", async () => {
    const { core, toolCallId, threadId } = await waiting();
    const client = executor(core, toolCallId);
    await client.claim();
    await client.print("one", 1n);
    await client.print("one", 1n);
    await client.print("two", 2n);
    expect(valuesOf(await storedEvents(core, threadId), "toolCallOutputDelta").map(({ text }) => text)).toEqual([
      "one",
      "two",
    ]);
  });

  test("bad ends are refused in words, and the claim goes on", async () => {
    const { core, toolCallId, threadId } = await waiting();
    const client = executor(core, toolCallId);
    await client.claim();
    await expect(client.complete({}, "Nope", ToolCallOutcome.DENIED)).rejects.toMatchObject({
      detail: { field: "complete.outcome" },
    });
    await expect(client.complete({}, "\n")).rejects.toMatchObject({ detail: { field: "complete.summary" } });
    await client.complete();
    checkLog(await end(core, threadId));
  });

  test("a report that is refused has not used its number up", async () => {
    const { core, toolCallId, threadId } = await waiting();
    await executor(core, toolCallId).claim();
    const report = (completed: number) =>
      core.executorCalls.report(toolCallId, tokens.ours, {
        outputs: [],
        progress: { message: "half", completed },
        reportSequence: 1n,
      });
    await expect(report(-1)).rejects.toMatchObject({ code: "invalid_event" });
    await report(1);
    await report(1);
    const events = await storedEvents(core, threadId);
    expect(valuesOf(events, "toolCallProgress")).toMatchObject([{ message: "half", completed: 1 }]);
  });

  test("secrets in what a client sends are not stored (T5)", async () => {
    const secret = "hunter2-hunter2-hunter2";
    const { core, toolCallId, threadId } = await waiting({ secrets: [secret] });
    const client = executor(core, toolCallId);
    await client.claim();
    await client.print(`the key is ${secret}\n`);
    await client.complete({ key: secret }, `Used ${secret}\nand more`);
    const events = await end(core, threadId);
    const { contents } = await core.toolCalls.get(toolCallId);
    const all = JSON.stringify([events, contents], (_, value) =>
      typeof value === "bigint" ? String(value) : value instanceof Uint8Array ? Buffer.from(value).toString() : value,
    );
    expect(all).not.toContain(secret);
    expect(valuesOf(events, "toolCallComplete")[0]!.summary).toBe("Used [redacted] and more");
  });

  test("output of which redaction leaves nothing is not stored", async () => {
    const secret = "hunter2-hunter2-hunter2";
    const { core, toolCallId, threadId } = await waiting({ secrets: [secret] });
    const client = executor(core, toolCallId);
    await client.claim();
    for (const text of ["It is hunter2-", "hunter2-", "hunter2", "!\n"]) await client.print(text);
    await client.complete();
    const events = await end(core, threadId);
    expect(
      valuesOf(events, "toolCallOutputDelta")
        .map(({ text }) => text)
        .join(""),
    ).toBe("It is [redacted]!\n");
    checkLog(events);
  });
});

describe("time", () => {
  test("a client that falls silent loses the call: interrupted, and never offered again", async () => {
    const clock = new ManualClock();
    const { core, toolCallId, threadId, model } = await waiting({ clock });
    await executor(core, toolCallId).claim(10_000);
    clock.advance(10_001);
    const events = await end(core, threadId);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      {
        outcome: ToolCallOutcome.INTERRUPTED,
        summary: "Interrupted: a laptop went silent",
        error: { kind: "executor_lost" },
      },
    ]);
    expect(model.requests[1]!.messages.at(-1)).toMatchObject({ isError: true });
    await expect(executor(core, toolCallId, tokens.theirs).claim()).rejects.toMatchObject({ code: "tool_call_over" });
    checkLog(events);
  });

  test("a client that is heard of keeps it", async () => {
    const clock = new ManualClock();
    const { core, toolCallId, threadId } = await waiting({ clock });
    const client = executor(core, toolCallId);
    await client.claim(10_000);
    for (let renewals = 0; renewals < 5; renewals++) {
      clock.advance(9_000);
      await client.renew();
    }
    await client.complete();
    expect(valuesOf(await end(core, threadId), "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.SUCCEEDED },
    ]);
  });

  test("a call that nobody claims is over at its deadline", async () => {
    const clock = new ManualClock();
    const { core, threadId } = await waiting({ clock, limits: { claimTimeoutMs: 60_000 } });
    clock.advance(60_001);
    const events = await end(core, threadId);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.TIMED_OUT, summary: "Nobody took the call within 60 s", error: { kind: "unclaimed" } },
    ]);
    checkLog(events);
  });

  test("one that is claimed in time is not", async () => {
    const clock = new ManualClock();
    const { core, threadId, toolCallId } = await waiting({ clock, limits: { claimTimeoutMs: 60_000 } });
    const client = executor(core, toolCallId);
    await client.claim(600_000);
    clock.advance(60_001);
    await client.complete();
    expect(valuesOf(await end(core, threadId), "toolCallComplete")).toMatchObject([{ success: true }]);
  });

  test("a client that is there and says nothing gets a sign of life", async () => {
    const { core, toolCallId, threadId } = await waiting({ limits: { quietMs: 0 } });
    const client = executor(core, toolCallId);
    await client.claim();
    await client.renew();
    expect(valuesOf(await storedEvents(core, threadId), "toolCallProgress")).toMatchObject([
      { message: "Still running", toolName: "open_page", startedSummary: "Opening https://example.com" },
    ]);
  });
});

describe("calling off", () => {
  test.each(["offered", "claimed"] as const)(
    "a call that is %s: it is cancelled, and the run goes on",
    async (state) => {
      const { core, toolCallId, threadId } = await waiting();
      if (state === "claimed") await executor(core, toolCallId).claim();
      await core.toolCalls.cancel(toolCallId, "not needed");
      const events = await end(core, threadId);
      expect(valuesOf(events, "toolCallComplete")).toMatchObject([
        { outcome: ToolCallOutcome.CANCELLED, summary: "Cancelled: not needed" },
      ]);
      expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
      await expect(executor(core, toolCallId).complete()).rejects.toMatchObject({ code: "tool_call_over" });
      checkLog(events);
    },
  );

  test("the run: its calls are cancelled with it", async () => {
    const { core, toolCallId, threadId, runId } = await waiting();
    await executor(core, toolCallId).claim();
    await core.threads.cancelRun(threadId, runId);
    const events = await end(core, threadId);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.CANCELLED }]);
    checkLog(events);
  });
});

describe("bodies", () => {
  test("a result written in pieces is whole; a piece that is sent again is taken once", async () => {
    const { core, toolCallId, threadId, model } = await waiting();
    const client = executor(core, toolCallId);
    await client.claim();
    const piece = (text: string, offset: bigint, contentId = "result", role = ContentRole.RESULT) =>
      core.executorCalls.write(
        {
          $typeName: "heddle.v1.ContentChunk",
          toolCallId,
          contentId,
          role,
          mediaType: "text/plain",
          offset,
          data: Uint8Array.from(Buffer.from(text)),
        },
        tokens.ours,
      );
    expect(await piece("one ", 0n)).toBe(4n);
    expect(await piece("one ", 0n)).toBe(4n);
    expect(await piece("two", 4n)).toBe(7n);
    await expect(piece("four", 9n)).rejects.toMatchObject({ code: "invalid_field" });
    await expect(client.complete({ also: "inline" })).rejects.toMatchObject({ detail: { field: "result" } });
    await client.complete(null);
    await end(core, threadId);
    const { contents } = await core.toolCalls.get(toolCallId);
    expect(contents.map(({ info, data }) => [info.contentId, Buffer.from(data).toString()])).toContainEqual([
      "result",
      "one two",
    ]);
    expect(model.requests[1]!.messages.at(-1)).toMatchObject({ text: "one two" });
  });

  test("what the model is told may be written apart", async () => {
    const { core, toolCallId, threadId, model } = await waiting();
    const client = executor(core, toolCallId);
    await client.claim();
    await core.executorCalls.write(
      {
        $typeName: "heddle.v1.ContentChunk",
        toolCallId,
        contentId: "model",
        role: ContentRole.MODEL_TEXT,
        mediaType: "text/plain",
        offset: 0n,
        data: Uint8Array.from(Buffer.from("for the model")),
      },
      tokens.ours,
    );
    await client.complete({ for: "people" });
    await end(core, threadId);
    expect(model.requests[1]!.messages.at(-1)).toMatchObject({ text: "for the model" });
  });

  test("output beyond the bound is not recorded, and said once", async () => {
    const { core, toolCallId, threadId } = await waiting();
    const client = executor(core, toolCallId);
    await client.claim();
    const mebibyte = "x".repeat(1024 * 1024);
    for (let reports = 0; reports < 18; reports++) await client.print(mebibyte);
    const texts = valuesOf(await storedEvents(core, threadId), "toolCallOutputDelta").map(({ text }) => text);
    expect(texts.filter((text) => text.includes("More output was not recorded"))).toHaveLength(1);
    expect(texts.join("").length).toBeLessThan(16 * 1024 * 1024 + 100);
  });
});

describe("policy", () => {
  test("a yes comes before the call is offered", async () => {
    const guarded = declared("open_page", { policy: ToolPolicy.ASK });
    const model = replies(called({ name: "open_page", input: { url: "a" } }), said("Done"));
    const asking = core({ model });
    const { id } = await asking.threads.create({ threadId: "", title: "", labels: {}, clientTools: [guarded] });
    await send(asking, { threadId: id });
    const events = await until(asking, id, isCase("runSuspended"));
    const [question] = valuesOf(events, "toolCallApprovalRequested");
    expect(valuesOf(events, "toolCallStarted")).toEqual([]);
    await asking.toolCalls.answer(question!.toolCallId, {
      decision: ApprovalDecision.ALLOWED,
      reason: "",
      resolvedBy: "a person",
      sha256: question!.approvalSha256,
    });
    await until(asking, id, isCase("toolCallStarted"));
    const client = executor(asking, question!.toolCallId);
    await client.claim();
    await client.complete();
    checkLog(await end(asking, id));
  });

  test("a trusted workspace is the server's own: what a client does with its files is asked for all the same", async () => {
    const edit = declared("edit_there", { kind: ToolKind.EDIT });
    const trusting = core({ policy: { trusted: true }, tools: [tool("edit_here", undefined, { kind: "edit" })] });
    const { id } = await trusting.threads.create({ threadId: "", title: "", labels: {}, clientTools: [edit] });
    expect((await trusting.toolCalls.tools(id)).map(({ name, policy }) => [name, policy])).toEqual([
      ["edit_here", ToolPolicy.ALLOW],
      ["edit_there", ToolPolicy.ASK],
    ]);
  });
});

describe("a restart", () => {
  const started = async (server: MortalCore) => {
    const { id } = await server.core.threads.create({ threadId: "", title: "", labels: {}, clientTools: [openPage] });
    await send(server.core, { threadId: id });
    const [call] = valuesOf(await until(server.core, id, isCase("runSuspended")), "toolCallStarted");
    return { threadId: id, toolCallId: call!.toolCallId };
  };
  const mortal = (options: CoreOptions = {}) =>
    new MortalCore(openMemoryLog(), {
      model: replies(called({ name: "open_page", input: { url: "a" } }), said("Done")),
      ...options,
    });

  test.each(["stopped", "killed"] as const)("of a server that was %s: unclaimed calls wait on", async (how) => {
    const server = mortal();
    const { threadId, toolCallId } = await started(server);
    await (how === "stopped" ? server.restart() : server.dieAndRestart("after the write"));
    expect(
      (await server.core.toolCalls.offered({ threadId: "", pageSize: 10, after: "" })).map(({ id }) => id),
    ).toEqual([toolCallId]);
    await executor(server.core, toolCallId).claim();
    await executor(server.core, toolCallId).complete();
    checkLog(await end(server.core, threadId));
    server.close();
  });

  test("a claimed call is its client's: it gets a full term, and may go on", async () => {
    const clock = new ManualClock();
    const server = mortal({ clock });
    const { threadId, toolCallId } = await started(server);
    await executor(server.core, toolCallId).claim(10_000);
    await executor(server.core, toolCallId).print("before", 1n);
    clock.advance(9_000);
    await server.dieAndRestart("after the write");
    clock.advance(9_000);
    await executor(server.core, toolCallId).print("before", 1n);
    await executor(server.core, toolCallId).print("after", 2n);
    await executor(server.core, toolCallId).complete();
    const events = await end(server.core, threadId);
    expect(valuesOf(events, "toolCallOutputDelta").map(({ text }) => text)).toEqual(["before", "after"]);
    checkLog(events);
    server.close();
  });

  test("a claimed call whose client died with the server is interrupted, and not offered again", async () => {
    const clock = new ManualClock();
    const server = mortal({ clock });
    const { threadId, toolCallId } = await started(server);
    await executor(server.core, toolCallId).claim(10_000);
    await server.dieAndRestart("after the write");
    clock.advance(10_001);
    const events = await end(server.core, threadId);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.INTERRUPTED }]);
    checkLog(events);
    server.close();
  });
});

describe("declarations", () => {
  test.each([
    ["a name with spaces", { name: "open page" }, "client_tools[0].name"],
    ["a name of MCP", { name: "mcp__a__b" }, "client_tools[0].name"],
    ["no JSON", { name: "a", inputSchemaJson: "{" }, "client_tools[0].input_schema_json"],
    ["a schema that is no object", { name: "a", inputSchemaJson: "[]" }, "client_tools[0].input_schema_json"],
    [
      "an input that is no object",
      { name: "a", inputSchemaJson: '{"type":"string"}' },
      "client_tools[0].input_schema_json",
    ],
    ["too long a description", { name: "a", description: "x".repeat(17 * 1024) }, "client_tools[0].description"],
  ])("%s is refused, with its field", async (_, tool, field) => {
    const refusing = core();
    const clientTools = [declared(tool.name, tool)];
    await expect(refusing.threads.create({ threadId: "", title: "", labels: {}, clientTools })).rejects.toMatchObject({
      code: "invalid_field",
      detail: { field },
    });
  });

  test("twice the same name is refused", async () => {
    const clientTools = [declared("a"), declared("a")];
    await expect(core().threads.create({ threadId: "", title: "", labels: {}, clientTools })).rejects.toMatchObject({
      detail: { field: "client_tools[1].name" },
    });
  });

  test("what an executor offers replaces the server's own of the same name, for as long as it is there", async () => {
    const ran: unknown[] = [];
    const here = tool("look", async (input) => {
      ran.push(input);
      return {};
    });
    const model = replies(called({ name: "look" }), said("Done"), called({ name: "look" }), said("Done"));
    const offering = core({ model, tools: [here] });
    const { clientTool } = await import("../../src/tool/client/client-tool.js");
    const withdraw = offering.supply.offered.add({
      threadId: undefined,
      tools: [clientTool(declared("look"), "a laptop")],
    });
    const { threadId } = await send(offering);
    const events = await until(offering, threadId, isCase("runSuspended"));
    const [call] = valuesOf(events, "toolCallStarted");
    expect(valuesOf(events, "toolCallCreated")).toMatchObject([
      { source: { source: { case: "client", value: { name: "a laptop" } } } },
    ]);
    withdraw();
    await executor(offering, call!.toolCallId).claim();
    await executor(offering, call!.toolCallId).complete();
    await end(offering, threadId);
    expect(ran).toEqual([]);
    const again = await send(offering, { threadId });
    await until(offering, threadId, (event) => isCase("runCompleted")(event) && event.runId === again.runId);
    expect(ran).toHaveLength(1);
  });
});
