// The verbs that every door uses. Doors translate requests into these and answers out of them; nothing else reaches the
// recorder, the log or the streams.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { EventLog, StoredThread, ThreadKey } from "./log/event-log.js";
import type { Runs } from "./loop/runs.js";
import type { SendRequest } from "./loop/start-run.js";
import { existingThread } from "./recorder/load-thread.js";
import type { Recorder } from "./recorder/recorder.js";
import {
  type Assigned,
  type Batch,
  type Hold,
  type Opened,
  type Recordings,
  refuseIfBusy,
} from "./recorder/recordings.js";
import type { ThreadDraft } from "./recorder/thread-draft.js";
import type { Feed, Sink } from "./stream/feed.js";
import type { Feeds } from "./stream/feeds.js";
import { follow } from "./stream/follow.js";
import { type WatchFrame, watchThreads } from "./stream/watch-threads.js";
import { HeddleError, isError } from "./thread/errors.js";
import type { ThreadEvent } from "./thread/event.js";
import { defaultTenant, isUuid, newId, parseId, type ThreadId } from "./thread/ids.js";
import { checkImages } from "./thread/images.js";
import { limits } from "./thread/limits.js";
import {
  type ClientTool,
  type McpServerDocument,
  McpServerDocumentSchema,
  type Thread,
  ThreadDocumentSchema,
  ThreadSchema,
  WireThreadState,
} from "./thread/schema.js";
import { cleanSummary } from "./thread/summary.js";
import { utf8Bytes } from "./thread/text.js";
import { now } from "./thread/time.js";
import type { CallState } from "./thread/tool-call.js";
import { checkClientTools } from "./tool/client/check-client-tool.js";

export type { Feed, Sink };

export { defaultTenant };

export interface FollowRequest {
  readonly threadId: string;
  readonly afterSequence: bigint;
  readonly follow: boolean;
}

export interface Page {
  readonly pageSize: number;
  /** The id after which the page begins; empty for the first one. */
  readonly after: string;
}

/** An MCP server that a thread brings along. */
export interface BroughtServer {
  readonly label: string;
  readonly url: string;
  /** Secret. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Who takes MCP servers that threads bring along. */
export interface ServerIntake {
  /** Throws `mcp_not_allowed` or `invalid_field`. */
  check(servers: readonly BroughtServer[], field: string): void;
  /** Keeps their headers, in memory only. */
  adopt(threadId: string, servers: readonly BroughtServer[]): void;
}

/** What belongs to threads beside their logs, and goes with them. */
interface ThreadBound {
  endThread(threadId: string): Promise<void>;
}

interface ThreadsParts {
  readonly log: EventLog;
  readonly recorder: Recorder;
  readonly recordings: Recordings;
  readonly runs: Runs;
  readonly feeds: Feeds;
  readonly bound?: readonly ThreadBound[];
  readonly intake?: ServerIntake;
}

export class Threads {
  readonly #log: EventLog;
  readonly #recorder: Recorder;
  readonly #recordings: Recordings;
  readonly #feeds: Feeds;

  readonly #runs: Runs;

  readonly #bound: readonly ThreadBound[];
  readonly #intake: ServerIntake;

  constructor(parts: ThreadsParts) {
    this.#log = parts.log;
    this.#recorder = parts.recorder;
    this.#recordings = parts.recordings;
    this.#runs = parts.runs;
    this.#feeds = parts.feeds;
    this.#bound = parts.bound ?? [];
    this.#intake = parts.intake ?? noIntake;
  }

  async create(request: {
    threadId: string;
    title: string;
    labels: Readonly<Record<string, string>>;
    clientTools?: readonly ClientTool[];
    mcpServers?: readonly BroughtServer[];
  }): Promise<Thread> {
    const { clientTools = [], mcpServers = [] } = request;
    const key = request.threadId ? keyOf(request.threadId) : { tenant: defaultTenant, threadId: newId<ThreadId>() };
    checkLabels(request.labels);
    checkClientTools(clientTools, "client_tools");
    if (mcpServers.length > 0) this.#intake.check(mcpServers, "mcp_servers");
    const document = create(ThreadDocumentSchema, {
      title: cleanSummary(request.title),
      labels: { ...request.labels },
      createTime: now(),
      clientTools: [...clientTools],
      mcpServers: mcpServers.map(serverDocument),
    });
    const created = await this.#log.create(key, toBinary(ThreadDocumentSchema, document));
    if (created) this.#recorder.changes.note(key.threadId);
    const stored = await this.#log.readThread(key);
    if (!created && stored?.removed) {
      throw new HeddleError("thread_id_retired", `Thread ${key.threadId} was deleted, and ids are never used again`);
    }
    const known = stored ? fromBinary(ThreadDocumentSchema, stored.document).mcpServers : [];
    const isKnown = ({ label, url }: BroughtServer): boolean =>
      known.some((server) => server.label === label && server.url === url);
    this.#intake.adopt(key.threadId, mcpServers.filter(isKnown));
    return this.get(key.threadId);
  }

  /** MCP servers that a thread brings along later: new ones are kept with it, and headers of known ones are taken anew. */
  async bringServers(threadId: string, servers: readonly BroughtServer[]): Promise<void> {
    if (servers.length === 0) return;
    this.#intake.check(servers, "mcp_servers");
    await this.#recorder.write(keyOf(threadId), (draft) => {
      const brought = new Set(servers.map(({ label }) => label));
      const others = draft.document.mcpServers.filter(({ label }) => !brought.has(label));
      if (others.length + servers.length > limits.threadServers.count)
        throw invalid("mcp_servers", `may have at most ${limits.threadServers.count} entries in one thread`);
      draft.changeDocument({ mcpServers: [...others, ...servers.map(serverDocument)] });
    });
    this.#intake.adopt(threadId, servers);
  }

  /** A change of a thread's own document. */
  change<Result>(key: ThreadKey, change: (draft: ThreadDraft) => Result): Promise<Result> {
    return this.#recorder.write(key, change);
  }

  async get(threadId: string): Promise<Thread> {
    const key = keyOf(threadId);
    return this.#show(await existingThread(this.#log, key));
  }

  /** A page in order of ids, and the id after which the next one begins: empty on the last. */
  async list({ pageSize, after }: Page): Promise<{ threads: Thread[]; nextAfter: string }> {
    const limit = clampPageSize(pageSize);
    const found = await this.#log.listThreads(defaultTenant, {
      limit: limit + 1,
      ...(after && { after: parsePageToken(after) }),
    });
    const threads = await Promise.all(found.slice(0, limit).map((stored) => this.#show(stored)));
    return { threads, nextAfter: found.length > limit ? (threads.at(-1)?.id ?? "") : "" };
  }

  /** The list, then what changes in it. The signal ends it at once, wherever it waits. */
  async *watch({ busyOnly }: { busyOnly: boolean }, signal: AbortSignal): AsyncGenerator<WatchFrame> {
    if (signal.aborted) return;
    const lasting = this.#feeds.lasting.open(signal, () => changes.close());
    const changes = this.#recorder.changes.watch(() => lasting.news());
    const page = (after: string) => this.list({ pageSize: limits.pageSize.max, after });
    yield* watchThreads({ page, read: (threadId) => this.#latest(threadId), changes, lasting, busyOnly });
  }

  /** Undefined: it was deleted. */
  async #latest(threadId: string): Promise<Thread | undefined> {
    const stored = await this.#log.readThread(keyOf(threadId));
    return stored && !stored.removed ? this.#show(stored) : undefined;
  }

  async delete(threadId: string): Promise<void> {
    const key = keyOf(threadId);
    try {
      await this.#recorder.remove(key, ({ document }) => {
        refuseIfBusy(document);
        const { createTime } = document;
        const tombstone = { deleteTime: now(), ...(createTime && { createTime }) };
        return toBinary(ThreadDocumentSchema, create(ThreadDocumentSchema, tombstone));
      });
    } catch (error) {
      if (!isError(error, "thread_deleted")) throw error;
    }
    await Promise.all(this.#bound.map((bound) => bound.endThread(key.threadId)));
  }

  /** Adds a user's message and starts a run. Answers with the run's id once the message is stored. */
  async send(threadId: string, { requestId, text, options, images = [] }: SendRequest): Promise<string> {
    const key = keyOf(threadId);
    const { textBytes, requestIdUnits } = limits.run;
    if (requestId.length > requestIdUnits || requestId !== cleanSummary(requestId) || requestId === "")
      throw invalid("request_id", `must be 1 to ${requestIdUnits} visible characters on one line`);
    if (text.trim() === "" && images.length === 0) throw invalid("text", "must not be empty");
    if (utf8Bytes(text) > textBytes) throw invalid("text", `may have at most ${textBytes} bytes`);
    checkImages(images, (index) => `images[${index}]`);
    return this.#runs.start(key, { requestId, text, options, images });
  }

  async cancelRun(threadId: string, runId: string): Promise<void> {
    const key = keyOf(threadId);
    await this.#runs.cancel(key, parseId(runId, "run_id"));
  }

  /** A feed for doors that write bytes. Not started: the request's errors come before Ready. */
  async openFeed(request: FollowRequest, sink: Sink): Promise<Feed> {
    const key = keyOf(request.threadId);
    const { head } = await existingThread(this.#log, key);
    if (request.afterSequence > head) {
      throw new HeddleError("sequence_out_of_range", `after_sequence is beyond the head, ${head}`, {
        detail: { headSequence: head, firstSequence: head > 0n ? 1n : 0n },
      });
    }
    return this.#feeds.open(key, { after: request.afterSequence, head, follow: request.follow, sink });
  }

  /** The same as messages. */
  follow(request: FollowRequest, signal: AbortSignal): AsyncGenerator<ThreadEvent> {
    return follow((sink) => this.openFeed(request, sink), signal);
  }

  async openRecording(
    threadId: string,
    request: { producer: string; leaseMs: number | undefined; takeOver: boolean },
  ): Promise<Opened> {
    const key = keyOf(threadId);
    const producer = cleanSummary(request.producer);
    if (!producer) throw invalid("producer", "must be a name of 1 to 200 characters");
    const { min, max } = limits.leaseMs;
    const leaseMs = request.leaseMs ?? limits.leaseMs.default;
    if (!(leaseMs >= min && leaseMs <= max))
      throw invalid("lease_duration", `must be between ${min / 1000} and ${max / 1000} seconds`);
    return this.#recordings.open(key, { producer, leaseMs, takeOver: request.takeOver });
  }

  record(threadId: string, batch: Batch): Promise<Assigned> {
    const key = keyOf(threadId);
    if (batch.events.length > limits.batchEvents)
      throw invalid("events", `may have at most ${limits.batchEvents} entries`);
    if (batch.contents.length > limits.batchContents) {
      throw invalid("contents", `may have at most ${limits.batchContents} entries`);
    }
    parseId(batch.recordingId, "recording_id");
    return this.#recordings.record(key, batch);
  }

  closeRecording(threadId: string, hold: Hold): Promise<bigint> {
    parseId(hold.recordingId, "recording_id");
    return this.#recordings.close(keyOf(threadId), hold);
  }

  async #show(stored: StoredThread): Promise<Thread> {
    const document = fromBinary(ThreadDocumentSchema, stored.document);
    const base = {
      id: stored.threadId,
      title: document.title,
      labels: document.labels,
      createTime: document.createTime ?? timestampFromMs(0),
      parentThreadId: document.parent?.threadId ?? "",
      parentToolCallId: document.parent?.toolCallId ?? "",
      openProcesses: document.processes.length,
    };
    const idle = { headSequence: stored.head, state: WireThreadState.IDLE };
    return create(ThreadSchema, {
      ...base,
      ...(document.runStartedSequence === 0n ? idle : await this.#running(stored)),
    });
  }

  /** What is open in it. One thread that cannot be read, or has just gone, must not spoil a list of them. */
  async #running({ threadId, head }: StoredThread) {
    try {
      const view = await this.#recorder.view({ tenant: defaultTenant, threadId });
      const { run, calls } = view.state;
      const inState = (wanted: CallState): number => [...calls.values()].filter(({ state }) => state === wanted).length;
      return {
        headSequence: view.head,
        state: stateOf(run),
        runId: run?.runId ?? "",
        openToolCalls: calls.size,
        offeredToolCalls: inState("offered"),
        awaitingApprovals: inState("awaiting_approval"),
      };
    } catch {
      return { headSequence: head, state: WireThreadState.RUNNING };
    }
  }
}

const serverDocument = ({ label, url, headers }: BroughtServer): McpServerDocument =>
  create(McpServerDocumentSchema, { label, url, hadHeaders: Object.keys(headers).length > 0 });

const noIntake: ServerIntake = {
  check: () => {
    throw new HeddleError("mcp_not_allowed", "This server takes no MCP servers from its callers");
  },
  adopt: () => {},
};

export const keyOf = (threadId: string): ThreadKey => ({
  tenant: defaultTenant,
  threadId: parseId<ThreadId>(threadId, "thread_id"),
});

function parsePageToken(token: string): ThreadId {
  if (!isUuid(token)) throw invalid("page_token", "must be one that this server made");
  return token as ThreadId;
}

export const clampPageSize = (pageSize: number): number =>
  Math.min(pageSize || limits.pageSize.default, limits.pageSize.max);

export const invalid = (field: string, rule: string): HeddleError =>
  new HeddleError("invalid_field", `${field} ${rule}`, { detail: { field, rule } });

function stateOf(run: { suspended: boolean } | undefined): WireThreadState {
  if (!run) return WireThreadState.IDLE;
  return run.suspended ? WireThreadState.SUSPENDED : WireThreadState.RUNNING;
}

function checkLabels(labels: Readonly<Record<string, string>>): void {
  const { count, keyUnits, valueUnits } = limits.labels;
  const entries = Object.entries(labels);
  if (entries.length > count) throw invalid("labels", `may have at most ${count} entries`);
  for (const [name, value] of entries) {
    if (name.length < 1 || name.length > keyUnits)
      throw invalid("labels", `must have keys of 1 to ${keyUnits} characters`);
    if (value.length > valueUnits) throw invalid("labels", `must have values of at most ${valueUnits} characters`);
  }
}
