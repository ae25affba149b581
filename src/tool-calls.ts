// The verbs about tool calls: one call as it stands, its bodies, and the calls of a thread.
import { create, fromBinary } from "@bufbuild/protobuf";
import type { EventLog, ThreadKey } from "./log/event-log.js";
import { serversOfThread } from "./loop/listed-servers.js";
import { toolsOfThread } from "./loop/listed-tools.js";
import type { ApprovalAnswer } from "./loop/parked.js";
import { type ThreadTools, threadTools } from "./loop/run-tools.js";
import type { Runs } from "./loop/runs.js";
import { contentId } from "./recorder/contents.js";
import { readDiscovery } from "./recorder/discoveries.js";
import { existingThread } from "./recorder/load-thread.js";
import { clampPageSize, keyOf } from "./request-fields.js";
import { HeddleError, invalidField } from "./thread/errors.js";
import { defaultTenant, parseId, type ThreadId, type ToolCallId } from "./thread/ids.js";
import { limits } from "./thread/limits.js";
import { isVisible } from "./thread/open-call.js";
import {
  type ContentInfo,
  type McpServer,
  ThreadDocumentSchema,
  type Tool,
  type ToolCall,
  ToolCallDocumentSchema,
  ToolCallSchema,
  type ToolDiscovery,
} from "./thread/schema.js";
import { cleanSummary } from "./thread/summary.js";
import { timestampMs } from "./thread/time.js";
import { type CallState, stateFromWire } from "./thread/tool-call.js";

export type { ApprovalAnswer } from "./loop/parked.js";

export interface CallWithContents {
  readonly call: ToolCall;
  /** The visible bodies that fit in `limits.inlineContentBytes`, smallest first. */
  readonly contents: readonly { info: ContentInfo; data: Uint8Array }[];
}

export interface ContentPiece {
  readonly info: ContentInfo;
  readonly offset: number;
  readonly data: Uint8Array;
}

/** A page of calls that wait: in one thread, or (an empty id) in all. */
interface WaitingRequest {
  readonly threadId: string;
  readonly pageSize: number;
  readonly after: string;
}

export class ToolCalls {
  readonly #log: EventLog;
  readonly #runs: Runs;

  constructor(log: EventLog, runs: Runs) {
    this.#log = log;
    this.#runs = runs;
  }

  /** The tools of a thread, or those that every thread has (an empty id), in order of their names. */
  async tools(threadId: string): Promise<readonly Tool[]> {
    return toolsOfThread(this.#runs.supply, await this.#threadTools(threadId), this.#runs.policy);
  }

  /** The MCP servers of a thread, or those that every thread has, in order of their labels. */
  async servers(threadId: string): Promise<readonly McpServer[]> {
    return serversOfThread(this.#runs.supply, await this.#threadTools(threadId));
  }

  async #threadTools(threadId: string): Promise<ThreadTools> {
    const document = threadId
      ? fromBinary(ThreadDocumentSchema, (await existingThread(this.#log, keyOf(threadId))).document)
      : { clientTools: [], mcpServers: [] };
    return threadTools(threadId, document);
  }

  /** The list that a discovery found. */
  async discovery(threadId: string, discoveryId: string): Promise<ToolDiscovery> {
    const key = keyOf(threadId);
    await existingThread(this.#log, key);
    const found = await readDiscovery(this.#log, key, parseId(discoveryId, "discovery_id"));
    if (found) return found;
    throw new HeddleError("discovery_not_found", `Thread ${threadId} holds no list of tools ${discoveryId}`);
  }

  /** Resolves when the call is being called off; its end is an event. */
  async cancel(toolCallId: string, reason: string): Promise<void> {
    const { key, call } = await this.#find(toolCallId);
    if (stateFromWire(call.state) === "over")
      throw new HeddleError("tool_call_over", `Tool call ${call.id} is over: there is nothing to call off`);
    await this.#runs.cancelCall(key, call.id, cleanSummary(reason));
  }

  /** Somebody's answer to the question whether a call may run. Resolves once it is stored. */
  async answer(toolCallId: string, answer: ApprovalAnswer): Promise<void> {
    const { key, call } = await this.#find(toolCallId);
    if (stateFromWire(call.state) === "over")
      throw new HeddleError("tool_call_over", `Tool call ${call.id} is over: there is nothing to answer`);
    await this.#runs.answer(key, call.id, answer);
  }

  /** The calls that wait for a yes, oldest question first, behind the call of the page before. */
  approvals(request: WaitingRequest): Promise<ToolCall[]> {
    return this.#waiting(request, "awaiting_approval");
  }

  /** The calls that wait to be claimed by a client, in the same way. */
  offered(request: WaitingRequest): Promise<ToolCall[]> {
    return this.#waiting(request, "offered");
  }

  async #waiting(request: WaitingRequest, state: CallState): Promise<ToolCall[]> {
    const keys = request.threadId ? [keyOf(request.threadId)] : await this.#log.listBusy();
    if (request.threadId) await existingThread(this.#log, keys[0]!);
    const waiting: ToolCall[] = [];
    for (const key of keys) waiting.push(...(await this.#waitingIn(key, state)));
    const inOrder = waiting
      .map((call) => ({ call, place: placeOf(call) }))
      .filter(({ place }) => place > request.after)
      .sort((a, b) => (a.place < b.place ? -1 : 1));
    return inOrder.slice(0, request.pageSize).map(({ call }) => call);
  }

  /** Only those of the open run can wait. */
  async #waitingIn(key: ThreadKey, wanted: CallState): Promise<ToolCall[]> {
    const stored = await this.#log.readThread(key);
    if (!stored || stored.removed) return [];
    const { runStartedSequence: first } = fromBinary(ThreadDocumentSchema, stored.document);
    if (first === 0n) return [];
    const waiting: ToolCall[] = [];
    for (let after = first; ; ) {
      const page = await this.#log.listCalls(key, { after, limit: callsAtOnce });
      const calls = page.map(shownCall);
      waiting.push(...calls.filter(({ state }) => stateFromWire(state) === wanted));
      if (page.length < callsAtOnce) return waiting;
      after = calls.at(-1)!.createdSequence;
    }
  }

  async get(toolCallId: string): Promise<CallWithContents> {
    const { key, call } = await this.#find(toolCallId);
    const contents: { info: ContentInfo; data: Uint8Array }[] = [];
    let room = limits.inlineContentBytes;
    for (const info of [...call.contents].sort((a, b) => Number(a.sizeBytes - b.sizeBytes))) {
      const size = Number(info.sizeBytes);
      if (size > room) break;
      room -= size;
      contents.push({ info, data: await this.#whole(key, call.id, info) });
    }
    return { call, contents };
  }

  /** A body from an offset on, piece by piece. */
  async *readContent(request: { toolCallId: string; contentId: string; offset: bigint }): AsyncGenerator<ContentPiece> {
    const { key, call } = await this.#find(request.toolCallId);
    if (!contentId.test(request.contentId))
      throw invalidField("content_id", "must be the name of a body, such as `result`");
    const info = call.contents.find((info) => info.contentId === request.contentId);
    if (!info)
      throw new HeddleError(
        "content_not_found",
        `Tool call ${call.id} has no body ${request.contentId}, or it is not complete yet`,
      );
    if (request.offset > info.sizeBytes)
      throw new HeddleError("content_out_of_range", `The body has ${info.sizeBytes} bytes`);
    let offset = Number(request.offset);
    do {
      const data = await this.#piece(key, call.id, { info, offset });
      yield { info, offset, data };
      offset += data.length;
    } while (offset < Number(info.sizeBytes));
  }

  /** A page in order of creation, and the Created sequence after which the next one begins: 0 on the last. */
  async list(request: {
    threadId: string;
    pageSize: number;
    after: bigint;
  }): Promise<{ calls: ToolCall[]; nextAfter: bigint }> {
    const key = keyOf(request.threadId);
    await existingThread(this.#log, key);
    const limit = clampPageSize(request.pageSize);
    const found = await this.#log.listCalls(key, { after: request.after, limit: limit + 1 });
    const calls = withinBytes(found.slice(0, limit)).map(shownCall);
    return { calls, nextAfter: found.length > calls.length ? (calls.at(-1)?.createdSequence ?? 0n) : 0n };
  }

  #find(toolCallId: string): Promise<{ key: ThreadKey; call: ToolCall }> {
    return findCall(this.#log, toolCallId);
  }

  async #whole(key: ThreadKey, callId: string, info: ContentInfo): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for (let offset = 0; offset < Number(info.sizeBytes); ) {
      const piece = await this.#piece(key, callId, { info, offset });
      pieces.push(piece);
      offset += piece.length;
    }
    return Buffer.concat(pieces);
  }

  async #piece(
    key: ThreadKey,
    callId: string,
    { info, offset }: { info: ContentInfo; offset: number },
  ): Promise<Uint8Array> {
    const body = { callId: callId as ToolCallId, contentId: info.contentId };
    const maxBytes = Math.min(limits.readChunkBytes, Number(info.sizeBytes) - offset);
    if (maxBytes === 0) return new Uint8Array();
    const data = await this.#log.readBody(key, body, { offset, maxBytes });
    if (!data?.length)
      throw new HeddleError("content_not_found", `Body ${info.contentId} of tool call ${callId} was deleted`);
    return data;
  }
}

/** The call and its thread, or `tool_call_not_found`. */
export async function findCall(log: EventLog, toolCallId: string): Promise<{ key: ThreadKey; call: ToolCall }> {
  const id = parseId<ToolCallId>(toolCallId, "tool_call_id");
  const found = await log.readCall(defaultTenant, id);
  if (!found) throw new HeddleError("tool_call_not_found", `There is no tool call ${id}`);
  return { key: { tenant: defaultTenant, threadId: found.threadId as ThreadId }, call: shownCall(found.document) };
}

/** Documents read together while those that wait are looked for. */
const callsAtOnce = 500;

/** Where a call that waits stands among all: as text it sorts by the time since when it does. */
export const placeOf = ({ approval, startTime, id }: ToolCall): string => {
  const since = startTime ?? approval?.requestTime;
  const ms = since ? timestampMs(since) : 0;
  return `${String(Math.round(ms * 1000)).padStart(20, "0")}.${id}`;
};

/** As many documents as fit into a message that every client takes, and at least one. */
function withinBytes(documents: readonly Uint8Array[]): readonly Uint8Array[] {
  let bytes = 0;
  const end = documents.findIndex((document, index) => {
    bytes += document.length;
    return index > 0 && bytes > limits.pageBytes;
  });
  return end < 0 ? documents : documents.slice(0, end);
}

/** The call as the API shows it: only bodies whose completing event is recorded. */
function shownCall(document: Uint8Array): ToolCall {
  const { toolCall, contents } = fromBinary(ToolCallDocumentSchema, document);
  const call = toolCall ?? create(ToolCallSchema);
  const state = stateFromWire(call.state);
  call.contents = contents.flatMap(({ info }) => (info && isVisible(state, info) ? [info] : []));
  return call;
}

/** Page tokens of calls that wait are places. */
export function parsePlace(token: string): string {
  if (token === "" || /^[0-9]{20}\.[0-9a-f-]{36}$/.test(token)) return token;
  throw invalidField("page_token", "must be one that this server made");
}

/** Page tokens are the sequence itself, as text. */
export function parseAfter(token: string): bigint {
  if (token === "") return 0n;
  if (!/^[0-9]{1,19}$/.test(token)) throw invalidField("page_token", "must be one that this server made");
  return BigInt(token);
}
