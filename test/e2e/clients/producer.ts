// Somebody's agent loop, as the suites need it: holds a thread and records batches, over plain gRPC.
import type { Interceptor } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { ContentChunk } from "../../../gen/heddle/v1/content_pb.js";
import type { ThreadEvent } from "../../../src/thread/event.js";
import { durationFromMs } from "../../../src/thread/time.js";
import { type Clients, clientsOver } from "../../support/clients.js";
import type { Target } from "./client.js";

export interface OpenClients extends Clients {
  close(): void;
}

export function clientsFor({ url, token, ca }: Target): OpenClients {
  const sessionManager = new Http2SessionManager(url, undefined, ca && { ca: ca.pem });
  const authorize: Interceptor = (next) => (request) => {
    if (token) request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
  const transport = createGrpcTransport({ baseUrl: url, sessionManager, interceptors: [authorize] });
  return { ...clientsOver(transport), close: () => sessionManager.abort() };
}

export interface Producer {
  readonly threadId: string;
  record(events: ThreadEvent[], contents?: ContentChunk[]): Promise<bigint>;
  close(): Promise<void>;
}

/** Holds a new thread. `record` answers with the sequence of the batch's last event. */
export async function openProducer(clients: Clients, options: { leaseMs?: number } = {}): Promise<Producer> {
  const { thread } = await clients.threads.createThread({ title: "a test" });
  const threadId = thread?.id ?? "";
  const { recordingId, epoch } = await clients.recorder.openRecording({
    threadId,
    producer: "a test",
    ...(options.leaseMs && { leaseDuration: durationFromMs(options.leaseMs) }),
  });
  let producerSequence = 0n;
  return {
    threadId,
    record: async (events, contents = []) => {
      const batch = { threadId, recordingId, epoch, producerSequence: ++producerSequence, events, contents };
      return (await clients.recorder.recordEvents(batch)).lastSequence;
    },
    close: async () => void (await clients.recorder.closeRecording({ threadId, recordingId, epoch })),
  };
}
