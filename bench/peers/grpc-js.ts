// The service as one would write it with grpc-js: a server stream a subscriber, over Node's own event emitter.
import { EventEmitter } from "node:events";
import { join } from "node:path";
import {
  type GrpcObject,
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServerWritableStream,
  type ServiceClientConstructor,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import type { ThreadEvent } from "../../src/thread/event.js";
import { encodeFrame, envelopeBytes } from "../../src/thread/frame.js";
import { caughtUpEvent, readyEvent } from "../support/events.js";
import type { Peer } from "./peer.js";

type Message = Record<string, unknown>;

export async function startGrpcJs(threadId: string): Promise<Peer> {
  const { service } = threadService();
  const plain = (event: ThreadEvent) =>
    service["StreamThreadEvents"]!.responseDeserialize(encodeFrame(event).subarray(envelopeBytes)) as Message;
  const greeting = [readyEvent(threadId), caughtUpEvent(threadId)].map(plain);
  const bus = new EventEmitter<{ event: [Message] }>().setMaxListeners(0);
  const server = new Server();
  server.addService(service, {
    StreamThreadEvents(call: ServerWritableStream<Message, Message>) {
      const send = (event: Message) => void call.write(event);
      for (const event of greeting) send(event);
      bus.on("event", send);
      call.on("cancelled", () => bus.off("event", send));
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    const bound = (error: Error | null, port: number) => (error ? reject(error) : resolve(port));
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), bound);
  });
  return {
    port,
    prepare: (batch) => {
      const events = batch.map(plain);
      return () => {
        for (const event of events) bus.emit("event", event);
      };
    },
  };
}

function threadService(): ServiceClientConstructor {
  const proto = join(import.meta.dirname, "../../proto");
  const definition = loadSync("heddle/v1/thread_service.proto", { includeDirs: [proto], longs: String });
  const { heddle } = loadPackageDefinition(definition) as unknown as Record<"heddle", Record<"v1", GrpcObject>>;
  return heddle.v1["ThreadService"] as ServiceClientConstructor;
}
