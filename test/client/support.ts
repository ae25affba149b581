// A scripted server: each stream that a client opens is answered by the next part of a script.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Client, createClient, createRouterTransport, type HandlerContext } from "@connectrpc/connect";
import {
  type Closing_Reason,
  type StreamThreadEventsResponse,
  StreamThreadEventsResponseSchema,
} from "../../gen/heddle/v1/event_pb.js";
import { type StreamThreadEventsRequest, ThreadService } from "../../gen/heddle/v1/thread_service_pb.js";
import type { FollowOptions } from "../../src/client/index.js";

export const threadId = "7b0f2c4e-5a36-4d0e-9c3f-2f6f2b7b9a10";

export const entry = (sequence: number | bigint): StreamThreadEventsResponse =>
  create(StreamThreadEventsResponseSchema, {
    threadId,
    sequence: BigInt(sequence),
    payload: { case: "messageDelta", value: { messageId: threadId, text: `piece ${sequence}` } },
  });

type Payload = NonNullable<MessageInitShape<typeof StreamThreadEventsResponseSchema>["payload"]>;

const control = (payload: Payload) => create(StreamThreadEventsResponseSchema, { threadId, payload });

export const ready = (head: number | bigint) =>
  control({ case: "ready", value: { headSequence: BigInt(head), firstSequence: 1n } });
export const caughtUp = (head: number | bigint) => control({ case: "caughtUp", value: { headSequence: BigInt(head) } });
export const heartbeat = () => control({ case: "heartbeat", value: {} });
export const closing = (reason: Closing_Reason) => control({ case: "closing", value: { reason } });

export type Stream = (
  request: StreamThreadEventsRequest,
  context: HandlerContext,
) => AsyncIterable<StreamThreadEventsResponse>;

export interface ScriptedServer {
  readonly client: Client<typeof ThreadService>;
  /** The position that each stream was opened with. */
  readonly opened: bigint[];
}

/** `script(n)` answers the n-th stream, counted from 0. */
export function scriptedServer(script: (attempt: number) => Stream): ScriptedServer {
  const opened: bigint[] = [];
  const transport = createRouterTransport((router) => {
    router.service(ThreadService, {
      streamThreadEvents: (request, context) => {
        opened.push(request.afterSequence);
        return script(opened.length - 1)(request, context);
      },
    });
  });
  return { client: createClient(ThreadService, transport), opened };
}

/** Ready and the entries after the position, at most `count` of them; then CaughtUp when the head is reached. */
export async function* some(head: number, request: StreamThreadEventsRequest, count: number) {
  yield ready(head);
  const first = Number(request.afterSequence) + 1;
  for (let sequence = first; sequence <= head && sequence < first + count; sequence++) yield entry(sequence);
  if (first + count > head) yield caughtUp(head);
}

/** A stream that says nothing until its client leaves. */
export const silence = (context: HandlerContext): Promise<never> =>
  new Promise((_, reject) => context.signal.addEventListener("abort", () => reject(context.signal.reason)));

export const following = (options: Partial<FollowOptions> = {}): FollowOptions => ({
  threadId,
  afterSequence: 0n,
  follow: false,
  signal: new AbortController().signal,
  ...options,
  backoff: { firstDelayMs: 0, random: () => 0, ...options.backoff },
});

export const upTo = (n: number): number[] => Array.from({ length: n }, (_, index) => index + 1);

/** The sequences of the entries, until the iteration ends or `count` have come. */
export async function sequences(events: AsyncIterable<StreamThreadEventsResponse>, count = Number.POSITIVE_INFINITY) {
  const seen: number[] = [];
  for await (const event of events) {
    seen.push(Number(event.sequence));
    if (seen.length >= count) break;
  }
  return seen;
}
