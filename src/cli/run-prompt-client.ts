// What a run asks of its server: a thread, a message, its events, and to be called off.
import { createClient } from "@connectrpc/connect";
import type { StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import type { RunOptions } from "../../gen/heddle/v1/run_options_pb.js";
import { ThreadService } from "../../gen/heddle/v1/thread_service_pb.js";
import { type FollowOptions, followThread } from "../client/index.js";
import { newId } from "../thread/ids.js";
import { openNodeTransport } from "./node-transport.js";

export interface Run {
  readonly threadId: string;
  readonly runId: string;
  /** The newest event before the run. */
  readonly afterSequence: bigint;
}

export interface Message {
  /** Undefined: a new thread. */
  readonly threadId: string | undefined;
  readonly title: string;
  readonly text: string;
  readonly options: Partial<Pick<RunOptions, "model" | "instructions" | "parallelToolCalls" | "maxSteps">>;
}

export interface RunClient {
  /** Only what comes before the run can be called off: from then on there is a run, and CancelRun. */
  start(message: Message, signal: AbortSignal): Promise<Run>;
  events(options: FollowOptions): AsyncIterable<StreamThreadEventsResponse>;
  cancel(run: Run): Promise<void>;
  close(): void;
}

/** A single answer must be there by then. */
const timeoutMs = 30_000;

export function openRunClient(server: string, token: string | undefined): RunClient {
  const { transport, close } = openNodeTransport(server, token);
  const threads = createClient(ThreadService, transport);
  return {
    async start({ threadId: given, title, text, options }, signal) {
      const { thread } =
        given === undefined
          ? await threads.createThread({ title }, { signal, timeoutMs })
          : await threads.getThread({ threadId: given }, { signal, timeoutMs });
      const { id: threadId, headSequence: afterSequence } = thread!;
      const request = { threadId, requestId: newId(), text, options };
      const { runId } = await threads.sendMessage(request, { timeoutMs });
      return { threadId, runId, afterSequence };
    },
    events: (options) => followThread(threads, options),
    async cancel({ threadId, runId }) {
      await threads.cancelRun({ threadId, runId }, { timeoutMs });
    },
    close,
  };
}
