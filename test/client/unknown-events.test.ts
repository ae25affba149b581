// S3: a reader that meets an event of a newer writer keeps its place and goes on.
import { create } from "@bufbuild/protobuf";
import { createClient, createRouterTransport } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { StreamThreadEventsResponseSchema } from "../../gen/heddle/v1/event_pb.js";
import { ThreadService } from "../../gen/heddle/v1/thread_service_pb.js";
import { followThread } from "../../src/client/follow-thread.js";
import { newId } from "../../src/thread/ids.js";

const threadId = newId<string>();
const event = (init: Parameters<typeof create<typeof StreamThreadEventsResponseSchema>>[1]) =>
  create(StreamThreadEventsResponseSchema, { threadId, ...init });

test("S3: an event that this version does not know is passed on by its sequence, and what follows is not lost", async () => {
  const newer = event({ sequence: 2n, runId: newId() });
  newer.$unknown = [{ no: 999, wireType: 2, data: new Uint8Array([2, 8, 1]) }];
  const asked: bigint[] = [];
  const transport = createRouterTransport(({ service }) =>
    service(ThreadService, {
      async *streamThreadEvents({ afterSequence }) {
        asked.push(afterSequence);
        yield event({ payload: { case: "ready", value: { headSequence: 3n, firstSequence: 1n } } });
        if (afterSequence === 0n) {
          yield event({ sequence: 1n, payload: { case: "runStarted", value: {} } });
          yield newer;
          return; // Cut: the client must resume behind the event that it does not know.
        }
        yield event({ sequence: 3n, payload: { case: "runResumed", value: {} } });
        yield event({ payload: { case: "caughtUp", value: { headSequence: 3n } } });
      },
    }),
  );
  const { signal } = new AbortController();
  const options = { threadId, afterSequence: 0n, follow: false, signal, backoff: { firstDelayMs: 1, maxDelayMs: 1 } };
  const seen = [];
  for await (const { sequence, payload } of followThread(createClient(ThreadService, transport), options)) {
    seen.push([sequence, payload.case]);
  }
  expect(seen).toEqual([
    [1n, "runStarted"],
    [2n, undefined],
    [3n, "runResumed"],
  ]);
  expect(asked).toEqual([0n, 2n]);
});
