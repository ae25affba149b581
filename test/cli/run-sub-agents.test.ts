// The threads of sub-agents are followed for their questions: from when they are there to when their run is over.
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test, vi } from "vitest";
import type { StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import { SubAgents } from "../../src/cli/run-prompt-sub-agents.js";
import type { FollowOptions } from "../../src/client/index.js";
import { newEvent, type ThreadEventInit } from "../../src/thread/event.js";

const event = (payload: NonNullable<ThreadEventInit["payload"]>): StreamThreadEventsResponse => newEvent({ payload });
const delegates = (toolCallId: string, childThreadId: string) =>
  event({ case: "toolCallCreated", value: { toolCallId, childThreadId } });
const news = (toolCallId: string) => event({ case: "toolCallProgress", value: { toolCallId } });
const over = (toolCallId: string) => event({ case: "toolCallComplete", value: { toolCallId } });
const asks = (toolCallId: string) => event({ case: "toolCallApprovalRequested", value: { toolCallId } });
const end = event({ case: "runCompleted", value: {} });

/** Threads with what is in them; one that has no end yet stays open until it is left. */
function following(threads: Map<string, readonly StreamThreadEventsResponse[]>) {
  const opened: string[] = [];
  const left: string[] = [];
  const seen: string[] = [];
  async function* events({ threadId, signal }: FollowOptions) {
    opened.push(threadId);
    const stored = threads.get(threadId);
    if (!stored) throw new ConnectError("there is none", Code.NotFound);
    try {
      yield* stored;
      if (stored.at(-1) !== end) await new Promise((_, reject) => signal.addEventListener("abort", reject));
    } finally {
      left.push(threadId);
    }
  }
  const agents = new SubAgents({ client: { events }, onEvent: ({ payload }) => seen.push(payload.case ?? "") });
  return { agents, opened, left, seen };
}

test("from the first news of the call on, and again when the thread was not there yet", async () => {
  const threads = new Map<string, readonly StreamThreadEventsResponse[]>();
  const { agents, opened, seen } = following(threads);
  agents.see(delegates("a", "thread of a"));
  expect(opened).toEqual([]);
  agents.see(news("a"));
  await vi.waitFor(() => expect(opened).toEqual(["thread of a"]));
  await agents.settled();
  threads.set("thread of a", [asks("x"), end]);
  agents.see(news("a"));
  agents.see(news("a"));
  await agents.settled();
  expect(opened).toEqual(["thread of a", "thread of a"]);
  expect(seen).toEqual(["toolCallApprovalRequested", "runCompleted"]);
  agents.see(over("a"));
  await agents.settled();
  expect(opened).toHaveLength(2);
});

test("a call that is over before it had any news is looked at all the same", async () => {
  const { agents, seen } = following(new Map([["thread of a", [asks("x"), end]]]));
  agents.see(delegates("a", "thread of a"));
  agents.see(over("a"));
  await agents.settled();
  expect(seen).toEqual(["toolCallApprovalRequested", "runCompleted"]);
});

test("sub-agents of sub-agents, and no calls that delegate nothing", async () => {
  const threads = new Map([
    ["thread of a", [delegates("b", "thread of b"), delegates("c", ""), news("b"), news("c"), over("b"), end]],
    ["thread of b", [asks("x"), end]],
  ]);
  const { agents, opened, seen } = following(threads);
  agents.see(delegates("a", "thread of a"));
  agents.see(news("a"));
  await vi.waitFor(() => expect(seen).toContain("toolCallApprovalRequested"));
  await agents.settled();
  expect(opened).toEqual(["thread of a", "thread of b"]);
});

test("what is still open is left", async () => {
  vi.useFakeTimers();
  try {
    const { agents, left } = following(new Map([["thread of a", [asks("x")]]]));
    agents.see(delegates("a", "thread of a"));
    agents.see(news("a"));
    const settled = agents.settled();
    await vi.advanceTimersByTimeAsync(2_000);
    await settled;
    expect(left).toEqual([]);
    agents.close();
    await vi.advanceTimersByTimeAsync(0);
    expect(left).toEqual(["thread of a"]);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
