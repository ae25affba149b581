// A producer over RecorderService: one thread, one recording, one run, lines of output in batches.
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { RecorderService } from "../../gen/heddle/v1/recorder_service_pb.js";
import { ThreadService } from "../../gen/heddle/v1/thread_service_pb.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { answerAsks } from "../support/ask.js";
import { eventTextBytes, OutputScript } from "../support/events.js";
import { beat, type Pace } from "../support/pace.js";
import { sharedNowMs } from "../support/statistics.js";

/** Longer than any pause of the bench. */
const leaseSeconds = 600n;

const asks = {
  /** Makes threads without anything in them. */
  threads: async ({ port, count }: { port: number; count: number }): Promise<string[]> => {
    const client = createClient(ThreadService, transportTo(port));
    const made = await Promise.all(Array.from({ length: count }, () => client.createThread({})));
    return made.map(({ thread }) => thread!.id);
  },
  /** Makes a thread and begins a run with one running call. */
  open: async (port: number): Promise<{ threadId: string; head: bigint }> => {
    recording = await openRecording(port);
    return { threadId: recording.threadId, head: recording.head };
  },
  /** One batch after the other, each not before its time and not before the answer to the last. When each was sent. */
  produce: async ({ batches, batchEvents, intervalMs, textBytes }: Pace & { textBytes?: number }) => {
    const events = Array.from({ length: batchEvents }, () => recording.script.line(textBytes ?? eventTextBytes));
    const sentMs = new Float64Array(batches);
    for (let batch = 0; batch < batches; batch++) {
      const due = beat(intervalMs);
      sentMs[batch] = sharedNowMs();
      await recording.record(events);
      await due;
    }
    return sentMs;
  },
};

export type ProducerAsks = typeof asks;
let recording: Awaited<ReturnType<typeof openRecording>>;
answerAsks(asks);

async function openRecording(port: number) {
  const transport = transportTo(port);
  const recorder = createClient(RecorderService, transport);
  const { thread } = await createClient(ThreadService, transport).createThread({});
  const threadId = thread!.id;
  const { recordingId, epoch } = await recorder.openRecording({
    threadId,
    producer: "bench",
    leaseDuration: { seconds: leaseSeconds },
  });
  const script = new OutputScript();
  let producerSequence = 0n;
  const record = (events: ThreadEvent[]) =>
    recorder.recordEvents({ threadId, recordingId, epoch, producerSequence: ++producerSequence, events });
  const { lastSequence } = await record(script.opening());
  return { threadId, head: lastSequence, script, record };
}

function transportTo(port: number) {
  return createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` });
}
