// A server's list of tools, all pages of it, as an offer.
import { createHash } from "node:crypto";
import { utf8Bytes } from "../../thread/text.js";
import type { ToolDefinition } from "../tool.js";
import type { ToolOffer } from "../tool-server.js";
import { counted } from "../words.js";
import { bounds } from "./bounds.js";
import { cleaned } from "./cleaned.js";
import { type ListedTool, listedTool } from "./listed-tool.js";
import { type McpSession, SessionError } from "./session.js";
import { toolNames } from "./tool-names.js";

export interface OfferRules {
  readonly serverLabel: string;
  /** Takes secrets out of a text: a server may echo what it was told to let us in. */
  clean(text: string): string;
  makeTool(name: string, listed: ListedTool): ToolDefinition;
  /** Of a tool that is left out: which, and why. */
  onLeftOut(words: string): void;
}

/** Rejects with a SessionError, or with the signal's reason. */
export async function readOffer(session: McpSession, rules: OfferRules, signal: AbortSignal): Promise<ToolOffer> {
  const entries = session.hasTools ? (await allPages(session, signal)).map((entry) => cleanEntry(entry, rules)) : [];
  const listed = entries.slice(0, bounds.tools).flatMap((entry) => {
    const tool = listedTool(entry);
    if (typeof tool !== "string") return [tool];
    rules.onLeftOut(tool);
    return [];
  });
  if (entries.length > bounds.tools)
    rules.onLeftOut(`${counted(entries.length - bounds.tools, "tool", "tools")} beyond the first ${bounds.tools}`);
  const names = toolNames(
    rules.serverLabel,
    listed.map(({ name }) => name),
  );
  const tools = new Map<string, ToolDefinition>();
  for (const tool of listed) {
    const name = names.get(tool.name)!;
    if (tools.has(name)) rules.onLeftOut(`${tool.name}: it is there twice`);
    else tools.set(name, rules.makeTool(name, tool));
  }
  const json = JSON.stringify(entries);
  return { tools: [...tools.values()], json, sha256: createHash("sha256").update(json).digest() };
}

/** A name is what the server is asked by. */
function cleanEntry(entry: unknown, { clean }: OfferRules): unknown {
  const { name } = (entry ?? {}) as { name?: unknown };
  return { ...(cleaned(entry, clean) as object), ...(name !== undefined && { name }) };
}

async function allPages(session: McpSession, signal: AbortSignal): Promise<readonly unknown[]> {
  const entries: unknown[] = [];
  let cursor: string | undefined;
  let bytes = 0;
  for (let page = 1; page <= bounds.pages; page++) {
    const { tools, nextCursor } = await session.listTools(cursor, signal);
    bytes += utf8Bytes(JSON.stringify(tools));
    if (bytes > bounds.listBytes) throw endless(`more than ${bounds.listBytes} bytes`);
    entries.push(...tools);
    if (nextCursor === undefined) return entries;
    cursor = nextCursor;
  }
  throw endless(`more than ${bounds.pages} pages`);
}

const endless = (words: string): SessionError =>
  new SessionError({ kind: "protocol", code: "" }, `its list of tools has ${words}`);
