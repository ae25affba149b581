// What a run asks of its server: a thread, a message, its events, answers to its questions, and to be called off.
import { ConnectError } from "@connectrpc/connect";
import type { StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import type { RunOptions } from "../../gen/heddle/v1/run_options_pb.js";
import type { GetToolCallResponse } from "../../gen/heddle/v1/tool_call_service_pb.js";
import { type FollowOptions, followThread, reasonOf } from "../client/index.js";
import { newId } from "../thread/ids.js";
import { type ApprovalAnswer, openClients, type ServerPlace } from "./server-clients.js";

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
  readonly options: Partial<
    Pick<RunOptions, "model" | "instructions" | "parallelToolCalls" | "maxSteps" | "approvalMode">
  >;
}

export interface RunClient {
  /**
   * Only what comes before the run can be called off: from then on there is a run, and CancelRun. A message that is refused
   * leaves no new thread behind.
   */
  start(message: Message, signal: AbortSignal): Promise<Run>;
  events(options: FollowOptions): AsyncIterable<StreamThreadEventsResponse>;
  cancel(run: Run): Promise<void>;
  call(toolCallId: string, signal: AbortSignal): Promise<GetToolCallResponse>;
  content(body: { toolCallId: string; contentId: string }, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Answers the question whether a call may run. */
  answer(answer: ApprovalAnswer, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** A single answer must be there by then. */
const timeoutMs = 30_000;
/** Somebody waits for the process to end. */
const cancelTimeoutMs = 5_000;

export function openRunClient(place: ServerPlace): RunClient {
  const { threads, toolCalls, events, close } = openClients(place);

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
    call: (toolCallId, signal) => toolCalls().getToolCall({ toolCallId }, { signal, timeoutMs }),
    async *content(body, signal) {
      for await (const { data } of toolCalls().readToolCallContent(body, { signal })) yield data;
    },
    async answer(answer, signal) {
      await toolCalls().resolveApproval(answer, { signal, timeoutMs });
    },
    close,
  };
}
