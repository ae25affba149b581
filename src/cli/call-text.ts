// One tool call as text for a person.

import { type ContentInfo, ContentRole } from "../../gen/heddle/v1/content_pb.js";
import { type ToolCall, ToolCallState, ToolKind, type ToolSource } from "../../gen/heddle/v1/tool_call_pb.js";
import type { GetToolCallResponse } from "../../gen/heddle/v1/tool_call_service_pb.js";
import { answerText } from "./approvals-text.js";
import { dateTime, durationText, sizeText } from "./format.js";
import { markOfCall } from "./marks.js";
import { commandLine, type Where } from "./next-command.js";
import { type Style, safeBlock, safeLine } from "./terminal.js";
import { errorText, exitCodeText, joined, outcomeWord, word } from "./words.js";

/** Larger bodies are named, not shown. */
const largestShownBytes = 4096;
const labelWidth = 10;

/** `where` is what led to the call: commands that are named here must lead there too. */
export function callText(
  { toolCall: call, contents }: GetToolCallResponse,
  { style, where }: { style: Style; where: Where },
): string {
  if (call === undefined) return "The server sent no tool call.";
  const bodies = new Map(contents.map(({ info, data }) => [info?.contentId, data]));
  return [
    heading(call, style),
    ...factsOf(call, where).map(([label, value]) => `  ${style.dim(label.padEnd(labelWidth))} ${safeLine(value)}`),
    ...call.locations.map(
      ({ path, line }) =>
        `  ${style.dim("location".padEnd(labelWidth))} ${safeLine(line === 0 ? path : `${path}:${line}`)}`,
    ),
    ...call.contents.flatMap((info) => bodyLines(info, bodies.get(info.contentId), style)),
  ].join("\n");
}

function heading(call: ToolCall, style: Style): string {
  const isOver = call.state === ToolCallState.OVER;
  const state = isOver ? outcomeWord(call.outcome) : word(ToolCallState, call.state);
  const paint = isOver ? style[markOfCall(call.outcome).paint] : style.cyan;
  return `${style.bold(safeLine(call.title || call.toolName))}  ${paint(state)}`;
}

/** Label and value, without those that have nothing to say. */
function factsOf(call: ToolCall, where: Where): (readonly [string, string])[] {
  const { error } = call;
  const facts: (readonly [string, string])[] = [
    ["doing", call.startedSummary],
    ["summary", call.completeSummary],
    ["error", error === undefined ? "" : errorText(error, call.completeSummary, call.outcome)],
    ["exit code", exitCode(call)],
    ["approval", approvalText(call, where)],
    ["tool", joined(call.toolName, word(ToolKind, call.kind), sourceText(call.source))],
    ["executor", claimText(call)],
    ["created", dateTime(call.createTime)],
    ["started", call.startTime === undefined ? "" : dateTime(call.startTime)],
    ["ended", call.completeTime === undefined ? "" : dateTime(call.completeTime)],
    ["took", call.duration === undefined ? "" : durationText(call.duration)],
    ["output", outputText(call, where)],
    ["id", call.id],
    ["provider", call.providerCallId === "" ? "" : `calls it ${call.providerCallId}`],
    ["thread", call.threadId],
    ["run", call.runId],
    ["parent", call.parentToolCallId],
    ["child", call.childThreadId],
    [
      "events",
      call.completedSequence === 0n
        ? `${call.createdSequence} –`
        : `${call.createdSequence} – ${call.completedSequence}`,
    ],
  ];
  return facts.filter(([, value]) => value !== "");
}

function approvalText({ id, approval }: ToolCall, where: Where): string {
  if (approval === undefined) return "";
  if (approval.resolveTime !== undefined) return joined(answerText(approval), dateTime(approval.resolveTime));
  return `waits for a yes: ${commandLine(`approvals show ${id}`, where)}`;
}

/** Who has taken a call that clients run, or until when it can be taken. */
function claimText({ claim, state }: ToolCall): string {
  if (claim === undefined) return "";
  if (claim.executorName !== "") return joined(`claimed by ${claim.executorName}`, dateTime(claim.claimTime));
  return state === ToolCallState.OVER ? "nobody claimed it" : `waits for one until ${dateTime(claim.expireTime)}`;
}

function exitCode(call: ToolCall): string {
  return call.state === ToolCallState.OVER ? exitCodeText({ ...call, summary: "" }).replace(/^exit code /, "") : "";
}

/** What a call prints is in the events alone. */
function outputText({ outputBytes, threadId, createdSequence }: ToolCall, where: Where): string {
  if (outputBytes === 0n) return "";
  const follow = commandLine(`follow ${threadId} --after ${createdSequence} --no-follow --json`, where);
  return `${sizeText(outputBytes)}, in toolCallOutputDelta of: ${follow}`;
}

function sourceText(source: ToolSource | undefined): string {
  switch (source?.source.case) {
    case "mcp":
      return `${source.source.value.toolName} of the MCP server ${source.source.value.serverLabel}`;
    case "client":
      return `of the client ${source.source.value.name}`.trimEnd();
    default:
      return "built-in";
  }
}

function bodyLines(info: ContentInfo, data: Uint8Array | undefined, style: Style): string[] {
  const role = info.role === ContentRole.MODEL_TEXT ? "what the model was told" : "";
  const facts = joined(role, info.mediaType || "application/octet-stream", sizeText(info.sizeBytes));
  const head = `  ${style.dim(safeLine(info.contentId).padEnd(labelWidth))} ${safeLine(facts)}`;
  const text = data === undefined || data.length > largestShownBytes ? undefined : textOf(data);
  if (text === undefined) return [`${head} ${style.dim(`(--content ${safeLine(info.contentId)} writes it)`)}`];
  return [
    head,
    ...safeBlock(text)
      .trimEnd()
      .split("\n")
      .map((line) => `    ${line}`),
  ];
}

/** Undefined when it is not text: the bytes decide, because writers leave the media type out. */
function textOf(data: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(data);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}
