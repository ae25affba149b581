// What a client may do to a call that it runs. Everything here is a change of a draft: what is true in the log decides who holds the
// call. Late, repeated and foreign requests are refused in words of their own, and change nothing.
import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { ThreadDraft } from "../recorder/thread-draft.js";
import { HeddleError, invalidField } from "../thread/errors.js";
import { newEvent, type ThreadEvent, type ThreadEventInit } from "../thread/event.js";
import { limits } from "../thread/limits.js";
import { type OpenCall, totalOutput } from "../thread/open-call.js";
import {
  type ClaimDocument,
  ClaimDocumentSchema,
  type ContentChunk,
  ContentRole,
  Executor,
  OutputStream,
  ToolCallErrorSchema,
  ToolCallOutcome,
} from "../thread/schema.js";
import { cleanSummary } from "../thread/summary.js";
import { splitToUtf8Bytes, utf8Bytes } from "../thread/text.js";
import { durationFromMs, timestampFromMs } from "../thread/time.js";
import { moreOutput, outputBoundBytes } from "./call-report.js";

export interface Claim {
  readonly executorName: string;
  readonly token: string;
  readonly leaseMs: number;
}

/** Of two claimers one wins; the same one may ask again. */
export function claimCall(draft: ThreadDraft, toolCallId: string, claim: Claim): void {
  const open = openCall(draft, toolCallId);
  const tokenSha256 = hashOf(claim.token);
  if (open.state !== "offered") {
    if (isClaimed(open) && open.claim && tokenSha256.equals(open.claim.tokenSha256)) return;
    throw notClaimable(open);
  }
  const leaseExpireTime = timestampFromMs(Date.now() + claim.leaseMs);
  const value = { toolCallId, executorName: claim.executorName, leaseExpireTime };
  draft.record(eventOf(draft, { case: "toolCallClaimed", value }));
  const duration = durationFromMs(claim.leaseMs);
  draft.noteClaim(
    toolCallId,
    create(ClaimDocumentSchema, { tokenSha256: Uint8Array.from(tokenSha256), duration, reportSequence: 0n }),
  );
}

function notClaimable({ call, state }: OpenCall): HeddleError {
  if (state === "running" && call.executor === Executor.CLIENT) {
    const executorName = call.claim?.executorName ?? "";
    return new HeddleError("tool_call_claimed", `Tool call ${call.id} was claimed by ${executorName || "another"}`, {
      detail: { executorName },
    });
  }
  return new HeddleError("tool_call_not_offered", `Tool call ${call.id} does not wait for a client`);
}

export interface Report {
  readonly outputs: readonly { readonly stream: OutputStream; readonly text: string }[];
  /** Undefined: nothing new. */
  readonly progress:
    | Extract<NonNullable<ThreadEventInit["payload"]>, { case: "toolCallProgress" }>["value"]
    | undefined;
  /** 0: not counted. */
  readonly reportSequence: bigint;
}

/** A report that was stored before is not stored twice. */
export function reportCall(draft: ThreadDraft, toolCallId: string, report: Report): void {
  const { reportSequence, outputs, progress } = report;
  if (reportSequence > 0n && reportSequence <= (openCall(draft, toolCallId).claim?.reportSequence ?? 0n)) return;
  for (const output of outputs) recordOutput(draft, toolCallId, output);
  if (progress) draft.record(eventOf(draft, { case: "toolCallProgress", value: { ...progress, toolCallId } }));
  // Last: the number of a report that is refused is still to come.
  const { claim } = openCall(draft, toolCallId);
  if (claim && reportSequence > 0n) draft.noteClaim(toolCallId, { ...claim, reportSequence });
}

/** What is beyond the bound is not recorded, and said in one line. */
function recordOutput(draft: ThreadDraft, toolCallId: string, { stream, text }: Report["outputs"][number]): void {
  const open = openCall(draft, toolCallId);
  if (open.claim?.outputTruncated || text === "") return;
  const isOver = totalOutput(open) + utf8Bytes(text) > outputBoundBytes;
  if (isOver && open.claim) draft.noteClaim(toolCallId, { ...open.claim, outputTruncated: true });
  for (const piece of splitToUtf8Bytes(isOver ? moreOutput : text, limits.ownDeltaBytes))
    draft.recordUnlessHidden(
      eventOf(draft, {
        case: "toolCallOutputDelta",
        value: { toolCallId, stream: stream || OutputStream.STDOUT, text: piece },
      }),
    );
}

/** Bytes of the body taken so far. A piece that was taken before is not taken twice: its answer was lost. */
export function writeContent(draft: ThreadDraft, chunk: ContentChunk): bigint {
  if (chunk.role === ContentRole.INPUT || chunk.role === ContentRole.PREVIEW)
    throw invalidField("chunk.role", "must be RESULT, MODEL_TEXT or PART");
  const received = (): bigint => {
    const { contents } = openCall(draft, chunk.toolCallId);
    return BigInt(contents.find(({ info }) => info.contentId === chunk.contentId)?.receivedBytes ?? 0);
  };
  const before = received();
  if (chunk.data.length > 0 && chunk.offset + BigInt(chunk.data.length) <= before) return before;
  draft.recordBatch([], [chunk]);
  return received();
}

export interface Completion {
  readonly complete: Extract<NonNullable<ThreadEventInit["payload"]>, { case: "toolCallComplete" }>["value"];
  /** Empty: there is none, or it was written in chunks. */
  readonly result: Uint8Array;
}

/** How a client may say that its call ended: it has started, so that it can be neither denied nor rejected. */
export const clientOutcomes: ReadonlySet<ToolCallOutcome> = new Set([
  ToolCallOutcome.SUCCEEDED,
  ToolCallOutcome.FAILED,
  ToolCallOutcome.CANCELLED,
  ToolCallOutcome.TIMED_OUT,
  ToolCallOutcome.INTERRUPTED,
]);

export function completeCall(draft: ThreadDraft, toolCallId: string, { complete, result }: Completion): void {
  const { contents } = openCall(draft, toolCallId);
  if (result.length > 0 && contents.some(({ info }) => info.contentId === "result"))
    throw invalidField("result", "must be empty: the result was written in chunks");
  const chunk: ContentChunk = {
    $typeName: "heddle.v1.ContentChunk",
    toolCallId,
    contentId: "result",
    role: ContentRole.RESULT,
    mediaType: mediaTypeOf(result),
    offset: 0n,
    data: result as Uint8Array<ArrayBuffer>,
  };
  const event = eventOf(draft, { case: "toolCallComplete", value: { ...withReason(complete), toolCallId } });
  draft.recordBatch([event], result.length > 0 ? [chunk] : []);
}

/** What did not succeed says why. */
function withReason(complete: Completion["complete"]): Completion["complete"] {
  if (complete.outcome === ToolCallOutcome.SUCCEEDED) return complete;
  const { kind = "", code = "", message = "" } = complete.error ?? {};
  const said = [message, complete.summary ?? ""].find((words) => cleanSummary(words) !== "");
  const error = { kind: kind || "tool_error", code, message: said ?? "The executor did not say why" };
  return { ...complete, error: create(ToolCallErrorSchema, error) } as Completion["complete"];
}

function mediaTypeOf(result: Uint8Array): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(result);
    return isJson(text) ? "application/json" : "text/plain";
  } catch {
    return "application/octet-stream";
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The open call, if the token is its claim's. */
export function heldCall(draft: ThreadDraft, toolCallId: string, token: string): ClaimDocument {
  const open = openCall(draft, toolCallId);
  if (isClaimed(open) && open.claim && hashOf(token).equals(open.claim.tokenSha256)) return open.claim;
  throw new HeddleError("claim_mismatch", `claim_token is not that of the claim on tool call ${toolCallId}`);
}

function openCall(draft: ThreadDraft, toolCallId: string): OpenCall {
  const open = draft.state.calls.get(toolCallId);
  if (!open)
    throw new HeddleError("tool_call_over", `Tool call ${toolCallId} is over: stop working on it; nothing was stored`);
  const { lease } = draft.document;
  if (!lease) return open;
  throw new HeddleError("tool_call_not_ours", `${lease.producer} runs this call: only it can report on it`, {
    detail: { producer: lease.producer },
  });
}

const isClaimed = ({ state, call }: OpenCall): boolean => state === "running" && call.executor === Executor.CLIENT;

const hashOf = (token: string): Buffer => createHash("sha256").update(token).digest();

const eventOf = (draft: ThreadDraft, payload: NonNullable<ThreadEventInit["payload"]>): ThreadEvent =>
  newEvent({ runId: draft.document.runId, payload });
