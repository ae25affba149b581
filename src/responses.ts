// The verbs of the Responses door: threads and responses are the same things, seen through two APIs. A response is a segment of a
// thread's log: it begins where a request started a run or went on with one, and ends where the run is over or waits.
import { fromBinary } from "@bufbuild/protobuf";
import { type Answers, answeredIds, answerWaiting, refuseAnswers } from "./answer-waiting.js";
import type { BroughtServer } from "./brought-servers.js";
import type { EventLog, ThreadKey } from "./log/event-log.js";
import { type PastEntry, recordMessage } from "./loop/past.js";
import { pastOf } from "./loop/past-of.js";
import type { Runs } from "./loop/runs.js";
import { type KeptResponse, keepResponse, readRecord } from "./recorder/kept-responses.js";
import { areAllDeleted, type ThreadDraft } from "./recorder/thread-draft.js";
import { keyOf } from "./request-fields.js";
import { HeddleError, isError } from "./thread/errors.js";
import type { ThreadEvent } from "./thread/event.js";
import { defaultTenant, newId, type ThreadId, type ToolCallId } from "./thread/ids.js";
import type { MessageImage } from "./thread/images.js";
import {
  type ResponseDocument,
  type RunOptions,
  type ThreadDocument,
  ThreadDocumentSchema,
  ToolCallDocumentSchema,
  ToolCallOutcome,
} from "./thread/schema.js";
import type { Threads } from "./threads.js";

export { toolNames } from "./tool/mcp/tool-names.js";
export { mcpPrefix } from "./tool/policy.js";

/** Where a response begins. */
export interface Segment {
  readonly threadId: string;
  readonly first: bigint;
}

export interface BeginRequest extends KeptResponse, Answers {
  /** The user's last words. Empty: the model answers to what came before. */
  readonly text: string;
  /** That came with them. */
  readonly images: readonly MessageImage[];
  readonly past: readonly PastEntry[];
  readonly options: RunOptions;
  readonly mcpServers: readonly BroughtServer[];
}

export interface StoredResponse extends Segment {
  readonly runId: string;
  /** Sequence of the run's first event. */
  readonly runStarted: bigint;
  /** Sequence of the last event that its request made. */
  readonly inputEnd: bigint;
  readonly record: string;
}

interface ResponsesParts {
  readonly log: EventLog;
  readonly runs: Runs;
  readonly threads: Threads;
}

export class Responses {
  readonly #parts: ResponsesParts;

  constructor(parts: ResponsesParts) {
    this.#parts = parts;
  }

  /** Resolves once it has begun. Of those who go on from one response, the first does so in its thread, and each other in one of its own. */
  async begin(asked: BeginRequest, previous?: Segment): Promise<Segment> {
    const before = previous ?? (await this.#askedBy(asked.approvals[0]?.toolCallId));
    if (!before) return this.#beginThread(asked, []);
    const request = { ...asked, outputs: await this.#wanted(asked.outputs) };
    const found = await this.#find(before);
    if (found.next) return this.#branch(found, found.next, request);
    try {
      return await this.#beginAfter(found, request);
    } catch (error) {
      const { next } = await this.#find(before);
      // Another caller that goes on from it has been quicker.
      if (next) return this.#branch(found, next, request);
      throw error;
    }
  }

  async #beginAfter({ key, document, response }: Found, request: BeginRequest): Promise<Segment> {
    await this.#parts.threads.bringServers(key.threadId, request.mcpServers);
    if (document.runId === response.runId) return this.#goOn(key, response, request);
    return this.#start(key, request, { past: [], after: response });
  }

  /** Another way to go on: what waited there is answered as this caller says. A question to a person is answered once (A3). */
  async #branch({ key }: Found, next: ResponseDocument, request: BeginRequest): Promise<Segment> {
    if (request.approvals.length > 0)
      throw new HeddleError("approval_not_pending", "The approval request has been answered already");
    const past = await pastOf(this.#parts.log, key, { upTo: next.firstSequence - 1n, outputs: request.outputs });
    return this.#beginThread({ ...request, outputs: [] }, past);
  }

  async get(segment: Segment): Promise<StoredResponse> {
    const { key, response } = await this.#find(segment);
    const { runId, runStartedSequence: runStarted, inputEndSequence: inputEnd } = response;
    return { ...segment, runId, runStarted, inputEnd, record: await readRecord(this.#parts.log, key, response) };
  }

  /** The events of its run from the first one on, also those that are to come. */
  follow({ threadId, runStarted }: StoredResponse, signal: AbortSignal): AsyncGenerator<ThreadEvent> {
    return this.#parts.threads.followOn(threadId, runStarted - 1n, signal);
  }

  /** The same, as far as they are stored. */
  stored({ threadId, runStarted }: StoredResponse): AsyncGenerator<ThreadEvent> {
    const request = { threadId, afterSequence: runStarted - 1n, follow: false };
    return this.#parts.threads.follow(request, new AbortController().signal);
  }

  /** One that is over is left as it is. */
  async cancel({ threadId, runId }: StoredResponse): Promise<void> {
    try {
      await this.#parts.runs.cancel(keyOf(threadId), runId);
    } catch (error) {
      if (!isError(error, "run_not_found")) throw error;
    }
  }

  /** Nobody sees it any more; with its last response a thread goes. */
  async delete(stored: StoredResponse): Promise<void> {
    const { key, document } = await this.#find(stored);
    // A run that a later response has gone on with is that one's.
    if (document.responses.findLast(({ runId }) => runId === stored.runId)?.firstSequence === stored.first) {
      await this.cancel(stored);
      await this.#ended(stored);
    }
    const isLast = await this.#parts.threads.change(key, (draft) => {
      const responses = draft.document.responses.map((response) =>
        response.firstSequence === stored.first ? { ...response, deleted: true } : response,
      );
      draft.changeDocument({ responses });
      return areAllDeleted(responses);
    });
    if (isLast) await this.#parts.threads.delete(stored.threadId);
  }

  /** After a restart: deletes what was to be deleted, and was not. Contract: nothing of the thread is at work. */
  async finishDeletions({ threadId }: ThreadKey): Promise<void> {
    const stored = await this.#parts.log.readThread(keyOf(threadId));
    if (!stored || stored.removed) return;
    const { responses } = fromBinary(ThreadDocumentSchema, stored.document);
    for (const { unstored, deleted, firstSequence: first } of responses)
      if (unstored && !deleted) await this.delete(await this.get({ threadId, first }));
    if (areAllDeleted(responses)) await this.#parts.threads.delete(threadId);
  }

  /** Resolves when its run is over: one that is called off takes a moment to end. */
  async #ended(stored: StoredResponse): Promise<void> {
    const stop = new AbortController();
    for await (const { payload, runId } of this.follow(stored, stop.signal))
      if (payload.case === "runCompleted" && runId === stored.runId) break;
    stop.abort();
  }

  async #beginThread(request: BeginRequest, past: readonly PastEntry[]): Promise<Segment> {
    const { mcpServers } = request;
    refuseAnswers(request);
    const { id } = await this.#parts.threads.create({ threadId: "", title: "", labels: {}, mcpServers });
    try {
      return await this.#start(keyOf(id), request, { past });
    } catch (error) {
      // What was refused leaves no empty thread.
      await this.#parts.threads.delete(id).catch(() => {});
      throw error;
    }
  }

  /** `after`: the newest response of the thread, or it is `thread_busy`. */
  async #start(
    key: ThreadKey,
    request: BeginRequest,
    { past, after }: { readonly past: readonly PastEntry[]; readonly after?: ResponseDocument },
  ): Promise<Segment> {
    refuseAnswers(request);
    const { text, images, options } = request;
    let first = 0n;
    await this.#parts.runs.start(key, {
      requestId: newId(),
      text,
      images,
      options,
      past: [...past, ...request.past],
      note: (draft, begun) => {
        refuseUnlessNewest(draft, after);
        first = begun.first;
        keepResponse(draft, request, { ...begun, runStarted: begun.first, inputEnd: draft.head });
      },
    });
    return { threadId: key.threadId, first };
  }

  async #goOn(key: ThreadKey, before: ResponseDocument, request: BeginRequest): Promise<Segment> {
    let first = 0n;
    const { runId, runStartedSequence: runStarted } = before;
    await this.#parts.runs.goOn(key, runId, (draft) => {
      first = draft.head + 1n;
      answerWaiting(draft, request);
      for (const entry of request.past)
        if (entry.kind === "message" && entry.role === "user") recordMessage(draft, runId, entry);
      const { text, images } = request;
      if (text !== "" || images.length > 0) recordMessage(draft, runId, { role: "user", text, images });
      // What the answers set going is the response's own.
      keepResponse(draft, request, { runId, first, runStarted, inputEnd: first - 1n });
      return { answered: answeredIds(request), asked: request.options };
    });
    return { threadId: key.threadId, first };
  }

  /**
   * Without answers to calls of a reply that broke off behind them, and was made again: their caller has seen them, and cannot know that
   * nobody waits for them.
   */
  async #wanted(outputs: BeginRequest["outputs"]): Promise<BeginRequest["outputs"]> {
    const isDiscarded = async ({ toolCallId }: BeginRequest["outputs"][number]): Promise<boolean> => {
      const call = await this.#parts.log.readCall(defaultTenant, toolCallId as ToolCallId);
      const { toolCall } = call ? fromBinary(ToolCallDocumentSchema, call.document) : {};
      return toolCall?.outcome === ToolCallOutcome.DISCARDED;
    };
    const discarded = await Promise.all(outputs.map(isDiscarded));
    return outputs.filter((_, index) => !discarded[index]);
  }

  /** The response that asked whether the call may run: it is the last one of its thread. */
  async #askedBy(toolCallId: string | undefined): Promise<Segment | undefined> {
    if (toolCallId === undefined) return undefined;
    const call = await this.#parts.log.readCall(defaultTenant, toolCallId as ToolCallId);
    const stored = call && (await this.#parts.log.readThread(keyOf(call.threadId)));
    const last = stored && !stored.removed && fromBinary(ThreadDocumentSchema, stored.document).responses.at(-1);
    if (!last) throw new HeddleError("approval_not_pending", "There is no such approval request");
    return { threadId: call.threadId, first: last.firstSequence };
  }

  async #find({ threadId, first }: Segment): Promise<Found> {
    const key = { tenant: defaultTenant, threadId: threadId as ThreadId };
    const stored = await this.#parts.log.readThread(key);
    if (!stored || stored.removed) throw notFound();
    const document = fromBinary(ThreadDocumentSchema, stored.document);
    const at = document.responses.findIndex(({ firstSequence }) => firstSequence === first);
    const response = document.responses[at];
    if (!response || response.deleted) throw notFound();
    return { key, document, response, next: document.responses[at + 1] };
  }
}

interface Found {
  readonly key: ThreadKey;
  readonly document: ThreadDocument;
  readonly response: ResponseDocument;
  /** The one that went on from it in the same thread. */
  readonly next: ResponseDocument | undefined;
}

/** Another one would be told what came in between. */
function refuseUnlessNewest({ document }: ThreadDraft, after: ResponseDocument | undefined): void {
  const newest = document.responses.at(-1);
  if (!after || !newest || newest.firstSequence === after.firstSequence) return;
  throw new HeddleError("thread_busy", "Somebody else has gone on in the thread", {
    detail: { kind: "run", holderId: newest.runId, producer: "" },
  });
}

const notFound = (): HeddleError => new HeddleError("response_not_found", "There is no such response");
