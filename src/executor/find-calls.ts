// The calls of a thread that wait for an executor or for a yes, and the two answers that can be given before one is claimed.
import { ConnectError } from "@connectrpc/connect";
import { insist, reasonOf } from "../client/index.js";
import { limits } from "../thread/limits.js";
import { ApprovalDecision, type ToolCall } from "../thread/schema.js";
import type { ToolRegistry } from "../tool/registry.js";
import type { ToolDefinition } from "../tool/tool.js";
import { answerMs, type ExecutorServer, patience } from "./executor-server.js";
import type { Answer } from "./questions.js";

export interface Found {
  readonly call: ToolCall;
  readonly tool: ToolDefinition;
}

/** Those of tools that are here. None where the thread has gone. */
export async function findWaiting(
  server: ExecutorServer,
  list: "listOfferedToolCalls" | "listApprovals",
  { threadId, tools, signal }: { threadId: string; tools: ToolRegistry; signal: AbortSignal },
): Promise<Found[]> {
  const found: Found[] = [];
  let pageToken = "";
  do {
    const request = { threadId, pageSize: limits.pageSize.max, pageToken };
    const ask = (): Promise<Page> => server.toolCalls()[list](request, { signal, timeoutMs: answerMs });
    const page = await unlessGone(insist(ask, patience(server, signal)));
    if (!page) return [];
    for (const call of page.toolCalls) {
      const tool = tools.get(call.toolName);
      if (tool) found.push({ call, tool });
    }
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return found;
}

interface Page {
  readonly toolCalls: readonly ToolCall[];
  readonly nextPageToken: string;
}

interface Resolution {
  readonly call: ToolCall;
  readonly answer: Answer;
  readonly approvalSha256: Uint8Array;
  readonly answerer: string;
}

/** One that came too late is no trouble: somebody else has answered. */
export async function resolveApproval(
  server: ExecutorServer,
  { call, answer: { isAllowed, reason }, approvalSha256, answerer }: Resolution,
  signal: AbortSignal,
): Promise<void> {
  const request = {
    toolCallId: call.id,
    decision: isAllowed ? ApprovalDecision.ALLOWED : ApprovalDecision.DENIED,
    reason: isAllowed ? "" : reason,
    approvalSha256: Uint8Array.from(approvalSha256),
    resolvedBy: answerer,
  };
  await unlessGone(
    insist(
      () => server.toolCalls().resolveApproval(request, { signal, timeoutMs: answerMs }),
      patience(server, signal),
    ),
  );
}

export async function refuseCall(
  server: ExecutorServer,
  request: { toolCallId: string; reason: string },
  signal: AbortSignal,
): Promise<void> {
  await unlessGone(
    insist(() => server.toolCalls().cancelToolCall(request, { signal, timeoutMs: answerMs }), patience(server, signal)),
  );
}

const goneReasons: readonly (string | undefined)[] = [
  "THREAD_NOT_FOUND",
  "THREAD_DELETED",
  "TOOL_CALL_NOT_FOUND",
  "TOOL_CALL_OVER",
  "APPROVAL_NOT_PENDING",
];

async function unlessGone<Value>(work: Promise<Value>): Promise<Value | undefined> {
  try {
    return await work;
  } catch (reason) {
    if (reason instanceof ConnectError && goneReasons.includes(reasonOf(reason) ?? "none of them")) return undefined;
    throw reason;
  }
}
