// The end of a call, recorded with everything that belongs to it: the result, its parts, and what the model is told.
import { create } from "@bufbuild/protobuf";
import { contentId } from "../recorder/contents.js";
import type { Body } from "../recorder/run-recorder.js";
import type { ThreadDraft } from "../recorder/thread-draft.js";
import { limits } from "../thread/limits.js";
import { ContentRole, type ToolCallComplete, ToolCallErrorSchema, ToolCallOutcome } from "../thread/schema.js";
import type { ToolContent, ToolOutcome } from "../tool/tool.js";
import { boundedForModel } from "./model-text.js";
import type { Run } from "./run.js";
import type { CallResult } from "./run-tool-call.js";
import type { CallInput } from "./streamed-call.js";

export interface CallEnd {
  readonly outcome: ToolCallOutcome;
  readonly summary: string;
  readonly error?: { readonly kind: string; readonly code?: string; readonly message: string } | undefined;
  /** Undefined when there is none. */
  readonly resultJson?: string;
  /** Undefined: the summary. */
  readonly modelText?: string;
  readonly stopIteration?: boolean;
  readonly content?: readonly ToolContent[];
  readonly locations?: NonNullable<ToolOutcome<unknown>["locations"]>;
  readonly exitCode?: number | undefined;
}

/** The run goes on: the model can be asked while the disk works. Whatever is written next stands behind the end. */
export function recordEnd(run: Run, call: CallInput, end: CallEnd): CallResult {
  const modelText = run.recorder.redacted(boundedForModel(end.modelText ?? end.summary));
  const { outcome, stopIteration = false } = end;
  const value = completeOf(call.id, end);
  const bodies = bodiesOf(call.id, end);
  bodies.push(body(call.id, "model", ContentRole.MODEL_TEXT, "text/plain", modelText));
  const change = stopIteration ? { change: noteStop } : {};
  run.goOnWhile(run.recorder.record({ case: "toolCallComplete", value }, { bodies, ...change, isAhead: true }));
  return { text: modelText, isError: outcome !== ToolCallOutcome.SUCCEEDED, stopIteration };
}

/** What Complete says of it. What the server knows is filled in when it is recorded. */
export const completeOf = (toolCallId: string, end: CallEnd): ToolCallComplete => ({
  $typeName: "heddle.v1.ToolCallComplete",
  toolCallId,
  toolName: "",
  outcome: end.outcome,
  success: false,
  summary: end.summary,
  error: end.error && create(ToolCallErrorSchema, end.error),
  locations: (end.locations ?? [])
    .slice(0, limits.locations)
    .map(({ path, line = 0 }) => ({ $typeName: "heddle.v1.ToolCallLocation", path, line })),
  totalLocations: end.locations?.length ?? 0,
  resultBytes: 0n,
  outputBytes: 0n,
  exitCode: end.exitCode,
});

const noteStop = (draft: ThreadDraft): void => draft.changeRun({ stoppedByTool: true });

/** Beside them a call may have its input, its preview, its result and what the model is told. */
const mostParts = limits.contentsPerCall - 4;

/** Parts whose name cannot be used get another: a tool's slip must not lose what it made. */
export function bodiesOf(toolCallId: string, { resultJson, content = [] }: CallEnd): Body[] {
  const bodies: Body[] = [];
  if (resultJson !== undefined)
    bodies.push(body(toolCallId, "result", ContentRole.RESULT, "application/json", resultJson));
  const taken = ["input", "preview", "result", "model"];
  for (const [index, { id, mediaType, data }] of content.slice(0, mostParts).entries()) {
    let name = contentId.test(id) ? id : `part-${index}`;
    for (let more = index; taken.includes(name); more++) name = `part-${more}`;
    taken.push(name);
    bodies.push(body(toolCallId, name, ContentRole.PART, mediaType, data));
  }
  return bodies;
}

function body(
  toolCallId: string,
  contentId: string,
  role: ContentRole,
  mediaType: string,
  data: string | Uint8Array,
): Body {
  return { toolCallId, contentId, role, mediaType, data: typeof data === "string" ? Buffer.from(data) : data };
}
