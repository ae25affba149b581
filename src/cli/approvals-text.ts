// One question as text for a person: what would happen, why somebody is asked, until when, and what a yes is bound to.
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { ContentRole } from "../../gen/heddle/v1/content_pb.js";
import { type ToolCall, type ToolCallApproval, ToolCallState, ToolKind } from "../../gen/heddle/v1/tool_call_pb.js";
import type { GetToolCallResponse, InlineContent } from "../../gen/heddle/v1/tool_call_service_pb.js";
import { dateTime, roughSpan, sizeText } from "./format.js";
import { paintedText } from "./live-view-line.js";
import { commandLine, type Where } from "./next-command.js";
import { previewLines, textOf } from "./preview-lines.js";
import { type Style, safeLine } from "./terminal.js";
import { joined, outcomeWord, word } from "./words.js";

const labelWidth = 10;

export interface QuestionTextOptions {
  readonly style: Style;
  /** What led to the call: commands that are named here must lead there too. Undefined: none is named. */
  readonly where: Where | undefined;
  readonly nowMs: number;
}

export function questionText({ toolCall: call, contents }: GetToolCallResponse, options: QuestionTextOptions): string {
  if (call === undefined) return "The server sent no tool call.";
  const { style, where, nowMs } = options;
  const facts = factsOf(call, nowMs).filter(([, value]) => value !== "");
  return [
    `${style.bold(safeLine(call.title || call.toolName))}  ${stateText(call, style)}`,
    ...facts.map(([label, value]) => `  ${style.dim(label.padEnd(labelWidth))} ${safeLine(value)}`),
    ...bodyText(contents, ContentRole.INPUT, style),
    ...bodyText(contents, ContentRole.PREVIEW, style),
    ...(where !== undefined && isWaiting(call) ? answersText(call, where, style) : []),
  ].join("\n");
}

export const isWaiting = ({ state }: ToolCall): boolean => state === ToolCallState.AWAITING_APPROVAL;

function stateText(call: ToolCall, style: Style): string {
  if (isWaiting(call)) return style.yellow("waits for a yes");
  return style.cyan(call.state === ToolCallState.OVER ? outcomeWord(call.outcome) : word(ToolCallState, call.state));
}

type Fact = readonly [label: string, value: string];

const factsOf = (call: ToolCall, nowMs: number): Fact[] => [
  ["summary", call.startedSummary],
  ...approvalFacts(call.approval, nowMs),
  ["ended", call.completeSummary],
  ["tool", joined(call.toolName, word(ToolKind, call.kind))],
  ["call", call.id],
  ["sub-agent", call.parentToolCallId && `of call ${call.parentToolCallId}`],
  ["thread", call.threadId],
  ["run", call.runId],
];

function approvalFacts(approval: ToolCallApproval | undefined, nowMs: number): Fact[] {
  if (approval === undefined) return [["reason", "nobody was asked"]];
  const { reason, requestTime, expireTime, resolveTime, approvalSha256 } = approval;
  return [
    ["reason", reason],
    ["asked", timeText(requestTime, (ms) => `${roughSpan(nowMs - ms)} ago`)],
    ["answered", resolveTime === undefined ? "" : `${dateTime(resolveTime)}, ${answerText(approval)}`],
    ["expires", resolveTime === undefined ? expiryText(expireTime, nowMs) : ""],
    ["bound to", `SHA-256 ${Buffer.from(approvalSha256).toString("hex")} of tool, input, workspace and preview`],
  ];
}

/** Contract: it was answered, or expired. */
export const answerText = ({ allowed, resolvedBy, resolveReason }: ToolCallApproval): string =>
  joined(
    allowed ? "allowed" : resolvedBy === "" ? "not allowed" : "denied",
    resolvedBy && `by ${resolvedBy}`,
    resolveReason,
  );

const expiryText = (expireTime: Timestamp | undefined, nowMs: number): string =>
  expireTime === undefined ? "never" : timeText(expireTime, (ms) => `in ${roughSpan(ms - nowMs)}`);

const timeText = (time: Timestamp | undefined, span: (ms: number) => string): string =>
  time === undefined ? "" : `${dateTime(time)}, ${span(timestampMs(time))}`;

function bodyText(contents: readonly InlineContent[], role: ContentRole, style: Style): string[] {
  const body = contents.find(({ info }) => info?.role === role);
  if (body?.info === undefined) return [];
  const { contentId, mediaType, sizeBytes } = body.info;
  const facts = joined(mediaType || "application/octet-stream", sizeText(sizeBytes));
  const text = textOf(body.data);
  const lines = text === undefined ? [[{ text: "(not text: --json has its bytes)" }]] : previewLines(text, mediaType);
  return [
    `  ${style.dim(safeLine(contentId).padEnd(labelWidth))} ${safeLine(facts)}`,
    ...lines.map((line) => `    ${paintedText(line, style)}`),
  ];
}

function answersText({ id }: ToolCall, where: Where, style: Style): string[] {
  const allow = commandLine(`approvals allow ${id}`, where);
  const deny = commandLine(`approvals deny ${id} --reason "…"`, where);
  return ["", `${style.dim("Answer with:")} ${safeLine(allow)}`, `${style.dim("         or:")} ${safeLine(deny)}`];
}
