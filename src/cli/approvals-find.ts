// Finds the call that somebody means, and reads all that there is to see of it.
import { create } from "@bufbuild/protobuf";
import { ContentRole } from "../../gen/heddle/v1/content_pb.js";
import { type GetToolCallResponse, InlineContentSchema } from "../../gen/heddle/v1/tool_call_service_pb.js";
import { isUuid } from "../thread/ids.js";
import { exitCodes, usageEnding } from "./exit.js";
import { Failure } from "./failure.js";
import { commandLine, type Where } from "./next-command.js";
import { programName } from "./program-name.js";
import type { Source } from "./source.js";
import { clip, safeLine } from "./terminal.js";

/** Fewer say too little. */
const shortestPrefix = 4;
const longestShown = 60;
const prefixForm = new RegExp(`^[0-9a-f-]{${shortestPrefix},36}$`);

export function callPrefixArgument(text: string): string {
  const prefix = text.toLowerCase();
  if (prefixForm.test(prefix)) return prefix;
  const given = safeLine(clip(text, longestShown));
  const message = `"${given}" is neither show, allow or deny nor the id of a tool call, or its first ${shortestPrefix} characters or more. "${programName} approvals" lists those that wait`;
  throw new Failure(usageEnding(message), undefined);
}

interface Search {
  readonly signal: AbortSignal;
  readonly where: Where;
}

/** The id that the text begins. A whole id need not wait: what became of it is worth knowing too. */
export async function findWaiting(source: Source, prefix: string, { signal, where }: Search): Promise<string> {
  if (isUuid(prefix)) return prefix;
  const found: string[] = [];
  for await (const { id } of source.approvals(signal)) if (id.startsWith(prefix)) found.push(id);
  if (found.length === 1) return found[0]!;
  if (found.length > 1) {
    const message = `${prefix} begins the ids of ${found.length} calls that wait: give more of it.\n  ${found.join("\n  ")}`;
    throw new Failure({ code: exitCodes.usage, message }, undefined);
  }
  const message = `no call that waits for a yes begins with ${prefix}: see which do with ${commandLine("approvals", where)}`;
  throw new Failure({ code: exitCodes.notFound, message }, undefined);
}

const isShown = (role: ContentRole): boolean => role === ContentRole.INPUT || role === ContentRole.PREVIEW;

/** The call with its input and its preview, whatever their size. */
export async function readQuestion(
  source: Pick<Source, "call" | "content">,
  toolCallId: string,
  signal: AbortSignal,
): Promise<GetToolCallResponse> {
  const response = await source.call(toolCallId, signal);
  const isHere = new Set(response.contents.map(({ info }) => info?.contentId));
  for (const info of response.toolCall?.contents ?? []) {
    if (!isShown(info.role) || isHere.has(info.contentId)) continue;
    const pieces: Uint8Array[] = [];
    for await (const piece of source.content({ toolCallId, contentId: info.contentId }, signal)) pieces.push(piece);
    response.contents.push(create(InlineContentSchema, { info, data: Buffer.concat(pieces) }));
  }
  return response;
}
