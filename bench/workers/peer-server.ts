// A peer in a process of its own. Arguments: which peer, and the thread's id.
import { startConnectNode } from "../peers/connect-node.js";
import { startGrpcJs } from "../peers/grpc-js.js";
import { startRawHttp2 } from "../peers/raw-http2.js";
import { answerAsks } from "../support/ask.js";
import { storedLines } from "../support/events.js";
import { beat, type Pace } from "../support/pace.js";

const peers = { "raw-http2": startRawHttp2, "connect-node": startConnectNode, "grpc-js": startGrpcJs };
export type PeerName = keyof typeof peers;

const [name, threadId] = process.argv.slice(2) as [PeerName, string];
const peer = await peers[name](threadId);
let head = 0n;
let prepared: (() => void)[] = [];

const asks = {
  port: () => peer.port,
  /** Outside of the measured time. */
  prepare: ({ batches, batchEvents }: Pace) => {
    prepared = Array.from({ length: batches }, () => {
      const batch = storedLines(threadId, head + 1n, batchEvents);
      head += BigInt(batchEvents);
      return peer.prepare(batch);
    });
  },
  publish: async ({ intervalMs }: Pace) => {
    for (const publish of prepared) {
      const due = beat(intervalMs);
      publish();
      await due;
    }
    prepared = [];
  },
};

export type PeerAsks = typeof asks;
answerAsks(asks);
