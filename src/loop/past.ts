// What was said and called before a run, as its caller tells it: recorded as if it had happened in the run, so that the model, and
// whoever reads the log, sees one conversation.
import { addImages } from "../recorder/attachments.js";
import type { ThreadDraft } from "../recorder/thread-draft.js";
import { newEvent, type ThreadEventInit } from "../thread/event.js";
import { newId } from "../thread/ids.js";
import type { MessageImage } from "../thread/images.js";
import { limits } from "../thread/limits.js";
import { type ContentChunk, ContentRole, Executor, Role, ToolCallOutcome, ToolKind } from "../thread/schema.js";
import { splitToUtf8Bytes } from "../thread/text.js";

export type PastEntry =
  | ({ readonly kind: "message" } & SaidMessage)
  /** A call that somebody has run, and what came of it. */
  | {
      readonly kind: "call";
      readonly name: string;
      readonly input: string;
      readonly output: string;
      readonly isError: boolean;
      /** The model made it in one reply with the call before it. */
      readonly isTogether: boolean;
    };

export interface SaidMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
  /** Of a user. */
  readonly images?: readonly MessageImage[];
}

type PastCall = Extract<PastEntry, { kind: "call" }>;

/** Contract: a run is open in the draft. */
export function recordPast(draft: ThreadDraft, runId: string, entries: readonly PastEntry[]): void {
  for (const [index, entry] of entries.entries()) {
    if (entry.kind === "message") recordMessage(draft, runId, entry);
    else if (!entry.isTogether || entries[index - 1]?.kind !== "call")
      recordCalls(draft, runId, callsFrom(entries, index));
  }
}

/** The calls of one reply. */
function callsFrom(entries: readonly PastEntry[], first: number): readonly PastCall[] {
  const calls: PastCall[] = [];
  for (let index = first; index < entries.length; index++) {
    const entry = entries[index]!;
    if (entry.kind !== "call" || (index > first && !entry.isTogether)) break;
    calls.push(entry);
  }
  return calls;
}

export function recordMessage(draft: ThreadDraft, runId: string, { role, text, images = [] }: SaidMessage): void {
  const messageId = newId();
  const event = (payload: NonNullable<ThreadEventInit["payload"]>) => newEvent({ runId, payload });
  const wireRole = role === "user" ? Role.USER : Role.ASSISTANT;
  draft.record(event({ case: "messageCreated", value: { messageId, role: wireRole } }));
  for (const piece of splitToUtf8Bytes(text, limits.ownDeltaBytes))
    draft.recordUnlessHidden(event({ case: "messageDelta", value: { messageId, text: piece } }));
  draft.record(
    event({ case: "messageCompleted", value: { messageId, attachments: addImages(draft, messageId, images) } }),
  );
}

/** All are made before the first of them runs: that is what one reply looks like. */
function recordCalls(draft: ThreadDraft, runId: string, calls: readonly PastCall[]): void {
  const events = (payloads: readonly NonNullable<ThreadEventInit["payload"]>[]) =>
    payloads.map((payload) => newEvent({ runId, payload }));
  const source = { source: { case: "client" as const, value: { name: "" } } };
  const made = calls.map((call) => ({ ...call, toolCallId: newId() }));
  for (const [index, { toolCallId, name: toolName, input }] of made.entries())
    draft.recordBatch(
      events([
        { case: "toolCallCreated", value: { toolCallId, toolName, index, kind: ToolKind.OTHER, source } },
        { case: "toolCallInputCompleted", value: { toolCallId } },
      ]),
      [body(toolCallId, "input", ContentRole.INPUT, input)],
    );
  for (const { toolCallId, output, isError } of made) {
    const outcome = isError ? ToolCallOutcome.FAILED : ToolCallOutcome.SUCCEEDED;
    const error = isError ? { error: { kind: "tool_error", message: "The tool failed" } } : {};
    draft.recordBatch(
      events([
        { case: "toolCallStarted", value: { toolCallId, executor: Executor.CLIENT } },
        { case: "toolCallClaimed", value: { toolCallId, executorName: "the caller" } },
      ]),
      [],
    );
    draft.recordBatch(events([{ case: "toolCallComplete", value: { toolCallId, outcome, ...error } }]), [
      body(toolCallId, "result", ContentRole.RESULT, output),
      body(toolCallId, "model", ContentRole.MODEL_TEXT, output),
    ]);
  }
}

const body = (toolCallId: string, contentId: string, role: ContentRole, text: string): ContentChunk => ({
  $typeName: "heddle.v1.ContentChunk",
  toolCallId,
  contentId,
  role,
  mediaType: role === ContentRole.INPUT ? "application/json" : "text/plain",
  offset: 0n,
  data: Uint8Array.from(Buffer.from(text)),
});
