// A server with the Responses API whose runs say what the bench wants, from inside its process. Arguments: the data directory.
//
// Runs are Heddle's own, and their model says one word and then nothing more: what is measured is recorded behind it, as its words.
import { defaultConfig } from "../../src/config.js";
import type { ThreadKey } from "../../src/log/event-log.js";
import type { Model } from "../../src/model/model.js";
import { newEvent } from "../../src/thread/event.js";
import { answerAsks } from "../support/ask.js";
import { load, openBuiltCore, wire } from "../support/built.js";
import { eventTextBytes } from "../support/events.js";
import { startInside } from "../support/inside-server.js";
import { beat, type Pace } from "../support/pace.js";

const [dir] = process.argv.slice(2) as [string];
const { log } = await openBuiltCore(dir);
const talker: Model = {
  name: "bench:talker",
  async *stream(_, signal) {
    yield { type: "text", text: "Well. " };
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  },
};
const core = await wire(log, { model: talker });
const { Responses } = await load<typeof import("../../src/responses.js")>("responses.js");
const { storedBodies } = await load<typeof import("../../src/response-bodies.js")>("response-bodies.js");
const { keyOf } = await load<typeof import("../../src/request-fields.js")>("request-fields.js");
const { createResponsesDoor } = await load<typeof import("../../src/projection/responses/serve.js")>(
  "projection/responses/serve.js",
);
const { parseRequest } = await load<typeof import("../../src/projection/responses/request-shape.js")>(
  "projection/responses/request-shape.js",
);
const { understand } = await load<typeof import("../../src/projection/responses/request.js")>(
  "projection/responses/request.js",
);
const { responseId } = await load<typeof import("../../src/projection/responses/response-id.js")>(
  "projection/responses/response-id.js",
);
const responses = new Responses({ log: core.log, runs: core.runs, threads: core.threads });
const { model: defaultModel } = defaultConfig.agent;
const offered = { models: [defaultModel], defaultModel, tools: [], servers: [] };
const server = await startInside(core, [
  createResponsesDoor({
    responses,
    bodies: storedBodies(core.log),
    offered: async () => offered,
    builtIn: "mcp",
    messageBytes: defaultConfig.limits.messageBytes,
    heartbeatMs: 600_000, // A comment would be counted.
    onUnexpected: (error) => {
      throw error;
    },
  }),
]);

interface Talk {
  readonly key: ThreadKey;
  readonly runId: string;
  readonly messageId: string;
}

const talks = new Map<string, Talk>();
const words = "thread ".repeat(Math.ceil(eventTextBytes / 7)).slice(0, eventTextBytes);

/** The message that the model has begun. */
async function begunMessage(threadId: string): Promise<{ messageId: string; head: bigint }> {
  const stop = new AbortController();
  let messageId = "";
  const events = core.threads.follow({ threadId, afterSequence: 0n, follow: true }, stop.signal);
  for await (const { payload, sequence } of events) {
    if (payload.case === "messageCreated") messageId = payload.value.messageId;
    if (payload.case !== "messageDelta" || payload.value.text !== "Well. ") continue;
    stop.abort();
    return { messageId, head: sequence };
  }
  throw new Error("the model said nothing");
}

const asks = {
  /** A response that goes on. */
  open: async () => {
    const asked = understand(parseRequest(JSON.stringify({ input: "Talk", background: true })), offered);
    const segment = await responses.begin({ ...asked.begin, record: JSON.stringify(asked.record) });
    const { runId } = await responses.get(segment);
    const { threadId } = segment;
    const { messageId, head } = await begunMessage(threadId);
    talks.set(threadId, { key: keyOf(threadId), runId, messageId });
    return { port: server.port, threadId, responseId: responseId(segment), head };
  },
  /** Batches of words, each when the last one is stored. */
  talk: async ({ threadId, batches, batchEvents, intervalMs }: Pace & { threadId: string }) => {
    const { key, runId, messageId } = talks.get(threadId)!;
    for (let batch = 0; batch < batches; batch++) {
      const due = beat(intervalMs);
      await core.threads.change(key, (draft) => {
        for (let event = 0; event < batchEvents; event++)
          draft.record(newEvent({ runId, payload: { case: "messageDelta", value: { messageId, text: words } } }));
      });
      await due;
    }
  },
};

export type ResponsesAsks = typeof asks;
answerAsks(asks);
