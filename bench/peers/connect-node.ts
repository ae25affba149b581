// The service as one would write it with Connect: an async generator a subscriber, over Node's own event emitter.
import { EventEmitter, on, once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { ThreadService } from "../../gen/heddle/v1/thread_service_pb.js";
import type { ThreadEvent } from "../../src/thread/event.js";
import { caughtUpEvent, readyEvent } from "../support/events.js";
import type { Peer } from "./peer.js";

export async function startConnectNode(threadId: string): Promise<Peer> {
  const bus = new EventEmitter<{ event: [ThreadEvent] }>().setMaxListeners(0);
  const adapter = connectNodeAdapter({
    routes: (router) =>
      router.service(ThreadService, {
        async *streamThreadEvents(_request, { signal }) {
          yield readyEvent(threadId);
          yield caughtUpEvent(threadId);
          for await (const [event] of on(bus, "event", { signal })) yield event as ThreadEvent;
        },
      }),
  });
  const server = createServer(adapter);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    prepare: (batch) => () => {
      for (const event of batch) bus.emit("event", event);
    },
  };
}
