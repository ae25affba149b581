// Lists of tools that discoveries found. A list is a body of the discovery, stored with the event that tells of it; the thread's
// document knows the newest one of each server.
import { create, fromBinary, type JsonValue, toBinary } from "@bufbuild/protobuf";
import type { EventLog, ThreadKey } from "../log/event-log.js";
import type { ToolCallId } from "../thread/ids.js";
import { limits } from "../thread/limits.js";
import { DiscoveryDocumentSchema, type Tool, type ToolDiscovery, ToolDiscoverySchema } from "../thread/schema.js";
import { redactedRequest } from "./request-echo.js";
import type { ThreadDraft } from "./thread-draft.js";

const contentId = "discovery";

export interface Discovered {
  readonly discoveryId: string;
  readonly serverLabel: string;
  readonly sha256: Uint8Array;
  readonly tools: readonly Tool[];
  readonly toolsJson: string;
}

export function noteDiscovery(draft: ThreadDraft, found: Discovered): void {
  const { discoveryId, serverLabel } = found;
  const redact = (text: string): string => draft.redactions.whole(text);
  const list = create(ToolDiscoverySchema, {
    serverLabel,
    tools: found.tools.map((tool) => redactedTool(tool, redact)),
    toolsJson: redactedJson(found.toolsJson, redact),
  });
  const bytes = toBinary(ToolDiscoverySchema, list);
  for (let offset = 0; offset < bytes.length; offset += limits.contentChunkBytes)
    draft.addBody({
      callId: discoveryId as ToolCallId,
      contentId,
      offset,
      bytes: bytes.subarray(offset, offset + limits.contentChunkBytes),
    });
  const sha256 = Uint8Array.from(found.sha256);
  const newest = create(DiscoveryDocumentSchema, { serverLabel, discoveryId, sha256 });
  const others = draft.document.discoveries.filter((known) => known.serverLabel !== serverLabel);
  draft.changeDocument({ discoveries: [...others, newest] });
}

/** Undefined when no such list was recorded in the thread. */
export async function readDiscovery(
  log: EventLog,
  key: ThreadKey,
  discoveryId: string,
): Promise<ToolDiscovery | undefined> {
  const body = { callId: discoveryId as ToolCallId, contentId };
  const pieces: Uint8Array[] = [];
  for (let offset = 0; ; ) {
    const piece = await log.readBody(key, body, { offset, maxBytes: limits.contentChunkBytes });
    if (!piece?.length) break;
    pieces.push(piece);
    offset += piece.length;
  }
  return pieces.length === 0 ? undefined : fromBinary(ToolDiscoverySchema, Buffer.concat(pieces));
}

/** Text by text: what looks like a secret across two of them would take the JSON between them with it. */
function redactedJson(json: string, redact: (text: string) => string): string {
  try {
    const { list } = redactedRequest({ list: JSON.parse(json) as JsonValue }, redact);
    return JSON.stringify(list);
  } catch {
    return redact(json);
  }
}

/** A server may echo what it was told to let us in. */
const redactedTool = (tool: Tool, redact: (text: string) => string): Tool => ({
  ...tool,
  title: redact(tool.title),
  description: redact(tool.description),
  inputSchemaJson: redact(tool.inputSchemaJson),
  outputSchemaJson: redact(tool.outputSchemaJson),
});
