// A server whose recorder is called from inside its process: an append without a producer's request in front of it.
// Arguments: the data directory.
import { answerAsks } from "../support/ask.js";
import { openBuiltCore, wire } from "../support/built.js";
import { startInside } from "../support/inside-server.js";
import { beat, type Pace } from "../support/pace.js";
import { openOutputProducer, watchAppends } from "../support/recorded-append.js";
import { sharedNowMs } from "../support/statistics.js";

const [dir] = process.argv.slice(2) as [string];
const { log } = await openBuiltCore(dir);
let appendedMs = 0;
const core = await wire(
  watchAppends(log, () => {
    appendedMs = sharedNowMs();
  }),
);
const server = await startInside(core);
const producer = await openOutputProducer(core);
/** Of a thread that nobody follows. */
const lonely = await openOutputProducer(core);

const asks = {
  open: () => ({ port: server.port, threadId: producer.threadId, head: producer.head }),
  /** One event after the other. When each was given to the recorder, or by the recorder to the log. */
  produce: async ({ batches, intervalMs, since }: Pace & { since: "recorder" | "append" }) => {
    const sentMs = new Float64Array(batches);
    for (let batch = 0; batch < batches; batch++) {
      const due = beat(intervalMs);
      const calledMs = sharedNowMs();
      await producer.record();
      sentMs[batch] = since === "append" ? appendedMs : calledMs;
      await due;
    }
    return sentMs;
  },
  /** At full speed: the next event is given as soon as one of those in flight is stored. */
  flood: async ({ events, inFlight, followed }: { events: number; inFlight: number; followed: boolean }) => {
    const { record } = followed ? producer : lonely;
    let left = events;
    const send = async (): Promise<void> => {
      while (left-- > 0) await record();
    };
    await Promise.all(Array.from({ length: inFlight }, send));
  },
};

export type InsideAsks = typeof asks;
answerAsks(asks);
