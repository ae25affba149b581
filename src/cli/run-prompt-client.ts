// What a run asks of its server: a thread, a message, its events, and to be called off.
import { ConnectError } from "@connectrpc/connect";
import type { StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import type { RunOptions } from "../../gen/heddle/v1/run_options_pb.js";
import { type FollowOptions, followThread, reasonOf } from "../client/index.js";
import { newId } from "../thread/ids.js";
import { openClients, type ServerPlace } from "./server-clients.js";

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
  /**
   * Only what comes before the run can be called off: from then on there is a run, and CancelRun. A message that is refused
   * leaves no new thread behind.
   */
  start(message: Message, signal: AbortSignal): Promise<Run>;
  events(options: FollowOptions): AsyncIterable<StreamThreadEventsResponse>;
  cancel(run: Run): Promise<void>;
  close(): void;
}

/** A single answer must be there by then. */
const timeoutMs = 30_000;
/** Somebody waits for the process to end. */
const cancelTimeoutMs = 5_000;

export function openRunClient(place: ServerPlace): RunClient {
  const { threads, events, close } = openClients(place);

  async function send({ threadId, text, options }: Message & { threadId: string }): Promise<string> {
    const { runId } = await threads().sendMessage({ threadId, requestId: newId(), text, options }, { timeoutMs });
    return runId;
  }

  async function startInNew(message: Message, signal: AbortSignal): Promise<Run> {
    const { thread } = await threads().createThread({ title: message.title }, { signal, timeoutMs });
    const { id: threadId, headSequence: afterSequence } = thread!;
    try {
      return { threadId, runId: await send({ ...message, threadId }), afterSequence };
    } catch (reason) {
      // Where nobody answered, the message may have arrived: its thread must stay.
      if (reasonOf(ConnectError.from(reason)) !== undefined)
        await threads()
          .deleteThread({ threadId }, { timeoutMs })
          .catch(() => {});
      throw reason;
    }
  }

  return {
    async start(message, signal) {
      const { threadId } = message;
      if (threadId === undefined) return startInNew(message, signal);
      const { thread } = await threads().getThread({ threadId }, { signal, timeoutMs });
      return { threadId, runId: await send({ ...message, threadId }), afterSequence: thread!.headSequence };
    },
    events: (options) => followThread(events, options),
    async cancel({ threadId, runId }) {
      await threads().cancelRun({ threadId, runId }, { timeoutMs: cancelTimeoutMs });
    },
    close,
  };
}
