// Executors that offer tools: what agents may call while they are there, and what is left when they are gone.
import { describe, expect, test } from "vitest";
import { newId } from "../src/thread/ids.js";
import { ApprovalDecision, Executor, ToolKind, ToolPolicy } from "../src/thread/schema.js";
import type { OfferRequest } from "../src/tool-offers.js";
import { called, clientToolOf, play, replies, said, send, tool, until, valuesOf } from "./support/agent.js";
import { type Core, useCores } from "./support/core.js";

const openCore = useCores();

/** Resolves once the tools are offered. */
async function offer(core: Core, request: Partial<OfferRequest> = {}) {
  const vanished = new AbortController();
  const given = { threadId: "", executorName: "here", tools: [clientToolOf("look")], ...request };
  const frames = core.toolOffers.offer(given, vanished.signal);
  const first = await frames.next();
  expect(first.value).toMatchObject({ payload: { case: "ready" } });
  return { frames, vanish: () => vanished.abort() };
}

const listed = async (core: Core, threadId = ""): Promise<Map<string, string>> =>
  new Map(
    (await core.toolCalls.tools(threadId)).map(({ name, source }) => [
      name,
      source?.source.case === "client" ? source.source.value.name : (source?.source.case ?? "built-in"),
    ]),
  );

describe("OfferTools", () => {
  test("a tool of the same name is replaced for as long as the stream is open", async () => {
    const model = replies(called({ name: "look" }), said("Done."), called({ name: "look" }), said("Done."));
    const core = openCore({ model, tools: [tool("look")] });
    const { vanish } = await offer(core);
    expect((await listed(core)).get("look")).toBe("here");
    const { threadId } = await send(core);
    const events = await until(core, threadId, ({ payload }) => payload.case === "runSuspended");
    const [started] = valuesOf(events, "toolCallStarted");
    const claim = await core.executorCalls.claim({
      toolCallId: started!.toolCallId,
      executorName: "here",
      claimToken: "",
      leaseMs: undefined,
    });
    // What it offered is gone with it; what it has claimed is not.
    vanish();
    expect((await listed(core)).get("look")).not.toBe("here");
    await core.executorCalls.complete(started!.toolCallId, claim.claimToken, {
      complete: { outcome: 1, summary: "Looked" },
      result: new Uint8Array(),
    });
    await until(core, threadId, ({ payload }) => payload.case === "runCompleted");
    const next = await play(core, { threadId });
    expect(valuesOf(next.events, "toolCallComplete")).toMatchObject([{ summary: "Did look" }]);
  });

  test("one that vanishes without a word is gone with its signal, though nobody asks its stream any more", async () => {
    const core = openCore();
    const { vanish } = await offer(core);
    expect(core.feeds.lasting.size).toBe(1);
    vanish();
    expect(core.feeds.lasting.size).toBe(0);
    expect((await listed(core)).has("look")).toBe(false);
  });

  test("of several, the last to come describes the tool; the others are there when it has gone", async () => {
    const core = openCore();
    await offer(core, { executorName: "first" });
    const second = await offer(core, { executorName: "second" });
    expect((await listed(core)).get("look")).toBe("second");
    second.vanish();
    expect((await listed(core)).get("look")).toBe("first");
  });

  test("for one thread, no other sees it; it comes before what is for all", async () => {
    const core = openCore();
    const { id } = await core.threads.create({ threadId: "", title: "", labels: {} });
    await offer(core, { threadId: id, executorName: "its own" });
    await offer(core, { executorName: "for all" });
    expect((await listed(core, id)).get("look")).toBe("its own");
    expect((await listed(core)).get("look")).toBe("for all");
  });

  test("policy: the configuration's word for the name comes first, then the executor's", async () => {
    const core = openCore({ policy: { policy: { look: "deny" } } });
    await offer(core, {
      tools: [
        clientToolOf("look", { policy: ToolPolicy.ALLOW }),
        clientToolOf("change", { kind: ToolKind.EDIT }),
        clientToolOf("change_freely", { kind: ToolKind.EDIT, policy: ToolPolicy.ALLOW }),
      ],
    });
    const policies = new Map((await core.toolCalls.tools("")).map(({ name, policy }) => [name, policy]));
    expect(policies.get("look")).toBe(ToolPolicy.DENY);
    expect(policies.get("change")).toBe(ToolPolicy.ASK);
    expect(policies.get("change_freely")).toBe(ToolPolicy.ALLOW);
  });

  test.each<[string, Partial<OfferRequest>, string]>([
    ["no name", { executorName: " " }, "invalid_field"],
    ["no tools", { tools: [] }, "invalid_field"],
    ["a name twice", { tools: [clientToolOf("look"), clientToolOf("look")] }, "invalid_field"],
    ["the name of an MCP tool", { tools: [clientToolOf("mcp__a__b")] }, "invalid_field"],
    ["a thread that is not there", { threadId: newId() }, "thread_not_found"],
    ["an id that is none", { threadId: "no id" }, "invalid_field"],
  ])("%s is refused before Ready, and nothing is offered", async (_, request, code) => {
    const core = openCore();
    const given = { threadId: "", executorName: "here", tools: [clientToolOf("look")], ...request };
    const frames = core.toolOffers.offer(given, new AbortController().signal);
    await expect(frames.next()).rejects.toMatchObject({ code });
    expect(core.feeds.lasting.size).toBe(0);
    expect((await listed(core)).has("look")).toBe(false);
  });

  test("signs of life, and the end of the server", async () => {
    const core = openCore({ heartbeatMs: 10 });
    const { frames } = await offer(core);
    expect((await frames.next()).value).toMatchObject({ payload: { case: "heartbeat" } });
    core.feeds.close();
    const last = [];
    for await (const { payload } of frames) last.push(payload?.case);
    expect(last.at(-1)).toBe("closing");
    expect((await listed(core)).has("look")).toBe(false);
  });
});

describe("a call runs where it was called", () => {
  const asking = { policy: ToolPolicy.ASK };

  async function asked(core: Core) {
    const { threadId } = await send(core);
    const events = await until(core, threadId, ({ payload }) => payload.case === "runSuspended");
    const [question] = valuesOf(events, "toolCallApprovalRequested");
    const { toolCallId, approvalSha256: sha256 } = question!;
    const allow = () =>
      core.toolCalls.answer(toolCallId, { decision: ApprovalDecision.ALLOWED, reason: "", resolvedBy: "", sha256 });
    return { threadId, toolCallId, allow };
  }

  test.each([
    { what: "a tool that is nowhere else", tools: [] },
    { what: "one that the server has too", tools: [tool("look")] },
  ])("$what: a yes while its executor is away hands it over, and it waits", async ({ tools }) => {
    const core = openCore({ model: replies(called({ name: "look" }), said("Done.")), tools });
    const { vanish } = await offer(core, { tools: [clientToolOf("look", asking)] });
    const { threadId, toolCallId, allow } = await asked(core);
    vanish();
    await allow();
    const events = await until(core, threadId, ({ payload }) =>
      ["toolCallStarted", "toolCallComplete"].includes(payload.case ?? ""),
    );
    expect(valuesOf(events, "toolCallStarted")).toMatchObject([{ toolCallId, executor: Executor.CLIENT }]);
  });

  test("an executor that comes while somebody is asked does not get what is the server's", async () => {
    const own = tool("look", undefined, { policy: "ask" });
    const core = openCore({ model: replies(called({ name: "look" }), said("Done.")), tools: [own] });
    const { threadId, allow } = await asked(core);
    await offer(core);
    await allow();
    const events = await until(core, threadId, ({ payload }) =>
      ["toolCallStarted", "toolCallComplete"].includes(payload.case ?? ""),
    );
    expect(valuesOf(events, "toolCallStarted")).toMatchObject([{ executor: Executor.SERVER }]);
  });
});
