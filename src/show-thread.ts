// A thread as everybody sees it, made of what is stored of it and of what is open in it.
import { create, fromBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { StoredThread } from "./log/event-log.js";
import type { Recorder } from "./recorder/recorder.js";
import { defaultTenant } from "./thread/ids.js";
import { type Thread, ThreadDocumentSchema, ThreadSchema, WireThreadState } from "./thread/schema.js";
import type { CallState } from "./thread/tool-call.js";

export async function showThread(recorder: Recorder, stored: StoredThread): Promise<Thread> {
  const document = fromBinary(ThreadDocumentSchema, stored.document);
  const base = {
    id: stored.threadId,
    title: document.title,
    labels: document.labels,
    createTime: document.createTime ?? timestampFromMs(0),
    parentThreadId: document.parent?.threadId ?? "",
    parentToolCallId: document.parent?.toolCallId ?? "",
    openProcesses: document.processes.length,
  };
  const idle = { headSequence: stored.head, state: WireThreadState.IDLE };
  return create(ThreadSchema, {
    ...base,
    ...(document.runStartedSequence === 0n ? idle : await running(recorder, stored)),
  });
}

/** What is open in it. One thread that cannot be read, or has just gone, must not spoil a list of them. */
async function running(recorder: Recorder, { threadId, head }: StoredThread) {
  try {
    const view = await recorder.view({ tenant: defaultTenant, threadId });
    const { run, calls } = view.state;
    const inState = (wanted: CallState): number => [...calls.values()].filter(({ state }) => state === wanted).length;
    return {
      headSequence: view.head,
      state: stateOf(run),
      runId: run?.runId ?? "",
      openToolCalls: calls.size,
      offeredToolCalls: inState("offered"),
      awaitingApprovals: inState("awaiting_approval"),
    };
  } catch {
    return { headSequence: head, state: WireThreadState.RUNNING };
  }
}

function stateOf(run: { suspended: boolean } | undefined): WireThreadState {
  if (!run) return WireThreadState.IDLE;
  return run.suspended ? WireThreadState.SUSPENDED : WireThreadState.RUNNING;
}
