// The verbs that every door uses. Doors translate requests into these and answers out of them; nothing else reaches the
// recorder, the log or the streams.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type BroughtServer, noIntake, type ServerIntake, serverDocument } from "./brought-servers.js";
import type { EventLog, ThreadKey } from "./log/event-log.js";
import type { Runs } from "./loop/runs.js";
import type { SendRequest } from "./loop/start-run.js";
import { existingThread } from "./recorder/load-thread.js";
import type { Assigned, Batch, Hold } from "./recorder/record-batch.js";
import type { Recorder } from "./recorder/recorder.js";
import { type Opened, type Recordings, refuseIfBusy } from "./recorder/recordings.js";
import type { ThreadDraft } from "./recorder/thread-draft.js";
import { checkLabels, clampPageSize, keyOf, parsePageToken } from "./request-fields.js";
import { showThread } from "./show-thread.js";
import type { Feed, Sink } from "./stream/feed.js";
import type { Feeds } from "./stream/feeds.js";
import { follow } from "./stream/follow.js";
import { followOn } from "./stream/follow-on.js";
import { type WatchFrame, watchThreads } from "./stream/watch-threads.js";
import { HeddleError, invalidField, isError } from "./thread/errors.js";
import type { ThreadEvent } from "./thread/event.js";
import { defaultTenant, newId, parseId, type ThreadId } from "./thread/ids.js";
import { checkImages } from "./thread/images.js";
import { limits } from "./thread/limits.js";
import { type ClientTool, type Thread, ThreadDocumentSchema } from "./thread/schema.js";
import { cleanSummary } from "./thread/summary.js";
import { utf8Bytes } from "./thread/text.js";
import { now } from "./thread/time.js";
import { checkClientTools } from "./tool/client/check-client-tool.js";

export type { Feed, Sink };

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
        throw invalidField("mcp_servers", `may have at most ${limits.threadServers.count} entries in one thread`);
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
    return showThread(this.#recorder, await existingThread(this.#log, key));
  }

  /** A page in order of ids, and the id after which the next one begins: empty on the last. */
  async list({ pageSize, after }: Page): Promise<{ threads: Thread[]; nextAfter: string }> {
    const limit = clampPageSize(pageSize);
    const found = await this.#log.listThreads(defaultTenant, {
      limit: limit + 1,
      ...(after && { after: parsePageToken(after) }),
    });
    const threads = await Promise.all(found.slice(0, limit).map((stored) => showThread(this.#recorder, stored)));
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
    return stored && !stored.removed ? showThread(this.#recorder, stored) : undefined;
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
      throw invalidField("request_id", `must be 1 to ${requestIdUnits} visible characters on one line`);
    if (text.trim() === "" && images.length === 0) throw invalidField("text", "must not be empty");
    if (utf8Bytes(text) > textBytes) throw invalidField("text", `may have at most ${textBytes} bytes`);
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

  /** Stored events from there on, also those that are to come, however long that takes. */
  followOn(threadId: string, afterSequence: bigint, signal: AbortSignal): AsyncGenerator<ThreadEvent> {
    return followOn((after) => this.follow({ threadId, afterSequence: after, follow: true }, signal), afterSequence);
  }

  async openRecording(
    threadId: string,
    request: { producer: string; leaseMs: number | undefined; takeOver: boolean },
  ): Promise<Opened> {
    const key = keyOf(threadId);
    const producer = cleanSummary(request.producer);
    if (!producer) throw invalidField("producer", "must be a name of 1 to 200 characters");
    const { min, max } = limits.leaseMs;
    const leaseMs = request.leaseMs ?? limits.leaseMs.default;
    if (!(leaseMs >= min && leaseMs <= max))
      throw invalidField("lease_duration", `must be between ${min / 1000} and ${max / 1000} seconds`);
    return this.#recordings.open(key, { producer, leaseMs, takeOver: request.takeOver });
  }

  record(threadId: string, batch: Batch): Promise<Assigned> {
    const key = keyOf(threadId);
    if (batch.events.length > limits.batchEvents)
      throw invalidField("events", `may have at most ${limits.batchEvents} entries`);
    if (batch.contents.length > limits.batchContents) {
      throw invalidField("contents", `may have at most ${limits.batchContents} entries`);
    }
    parseId(batch.recordingId, "recording_id");
    return this.#recordings.record(key, batch);
  }

  closeRecording(threadId: string, hold: Hold): Promise<bigint> {
    parseId(hold.recordingId, "recording_id");
    return this.#recordings.close(keyOf(threadId), hold);
  }
}
