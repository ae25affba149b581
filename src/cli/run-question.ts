// The question whether a call may run, as a run asks it on its terminal, and what an answer to it looks like.
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { ContentRole } from "../../gen/heddle/v1/content_pb.js";
import type { ToolCall } from "../../gen/heddle/v1/tool_call_pb.js";
import type { GetToolCallResponse } from "../../gen/heddle/v1/tool_call_service_pb.js";
import { roughSpan } from "./format.js";
import { type Line, lineOf } from "./live-view-line.js";
import { previewLines, textOf } from "./preview-lines.js";
import { safeLine } from "./terminal.js";

export interface Question {
  readonly toolCallId: string;
  /** `Write file: Writing notes.txt`, safe for a terminal. */
  readonly heading: { readonly title: string; readonly summary: string };
  /** Why somebody is asked, and until when. Safe for a terminal. */
  readonly why: string;
  /** What would happen: the preview; or the input, where there is none or it does not show everything. */
  readonly body: readonly Line[];
  /** The command that shows all of it. */
  readonly seeAll: string;
}

export type TypedAnswer =
  | { readonly decision: "allowed" }
  /** The model reads the reason. */
  | { readonly decision: "denied"; readonly reason: string };

export const prompt = "Allow? [y]es / [n]o / n and a reason: ";
export const promptHint = "Type y to allow it, or n, or n and a reason. ";

/** Undefined: that is no answer. */
export function answerIn(line: string): TypedAnswer | undefined {
  const text = line.trim();
  if (/^y(?:es)?[.!]?$/i.test(text)) return { decision: "allowed" };
  const no = /^no?(?:[\s,;:.!–-]+(.*))?$/is.exec(text);
  return no === null ? undefined : { decision: "denied", reason: no[1]?.trim() ?? "" };
}

/** As the server writes it. */
const redactionMark = "[redacted]";
const hiddenWords = "Parts of the preview look like secrets and are hidden. The whole input instead:";

/** Whoever is asked should know that it is not the agent that they speak with. */
function titleOf(call: ToolCall | undefined): string {
  const title = call?.title || call?.toolName || "";
  return call?.parentToolCallId ? `A sub-agent: ${title}` : title;
}

export function questionOf(
  { toolCall: call, contents }: GetToolCallResponse,
  { seeAll, nowMs }: { seeAll: string; nowMs: number },
): Question {
  const { reason = "", expireTime } = call?.approval ?? {};
  const expiry = expireTime === undefined ? "" : `expires in ${roughSpan(timestampMs(expireTime) - nowMs)}`;
  const bodyOf = (role: ContentRole) => contents.find(({ info }) => info?.role === role);
  const preview = bodyOf(ContentRole.PREVIEW);
  // What looks like a secret is not stored in a preview, and whoever wrote the call may have made it look like one.
  const isHidden = preview !== undefined && (textOf(preview.data)?.includes(redactionMark) ?? true);
  const shown = (isHidden ? undefined : preview) ?? bodyOf(ContentRole.INPUT);
  const text = shown && textOf(shown.data);
  const lines = text === undefined ? [] : previewLines(text, shown?.info?.mediaType ?? "");
  return {
    toolCallId: call?.id ?? "",
    heading: { title: safeLine(titleOf(call)), summary: safeLine(call?.startedSummary ?? "") },
    why: safeLine([reason, expiry].filter(Boolean).join("; ")),
    body: isHidden ? [lineOf(hiddenWords, "yellow"), ...lines] : lines,
    seeAll: safeLine(seeAll),
  };
}
