// Executors that offer tools: for as long as one's stream is open, agents may call what it can run.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { EventLog } from "./log/event-log.js";
import { existingThread } from "./recorder/load-thread.js";
import { keyOf } from "./request-fields.js";
import type { Lasting, LastingStreams } from "./stream/lasting-streams.js";
import { invalidField } from "./thread/errors.js";
import type { ClientTool, OfferToolsResponseSchema } from "./thread/schema.js";
import { cleanSummary } from "./thread/summary.js";
import { checkClientTools } from "./tool/client/check-client-tool.js";
import { clientTool } from "./tool/client/client-tool.js";
import type { OfferedTools } from "./tool/client/offered-tools.js";

export interface OfferRequest {
  /** Empty: of every thread. */
  readonly threadId: string;
  readonly executorName: string;
  readonly tools: readonly ClientTool[];
}

export type OfferFrame = MessageInitShape<typeof OfferToolsResponseSchema>;

interface ToolOffersParts {
  readonly log: EventLog;
  readonly offered: OfferedTools;
  readonly lasting: LastingStreams;
}

export class ToolOffers {
  readonly #parts: ToolOffersParts;

  constructor(parts: ToolOffersParts) {
    this.#parts = parts;
  }

  /** Ready, then signs of life. The tools are gone with the stream, or as soon as the signal says that its reader has vanished. */
  async *offer(request: OfferRequest, signal: AbortSignal): AsyncGenerator<OfferFrame> {
    const offer = await this.#checked(request);
    if (signal.aborted) return;
    const lasting = this.#parts.lasting.open(signal, () => withdraw());
    const withdraw = this.#parts.offered.add(offer);
    yield* signsOfLife(lasting);
  }

  async #checked({ threadId, executorName, tools }: OfferRequest) {
    const name = cleanSummary(executorName);
    if (!name) throw invalidField("executor_name", "must be a name of 1 to 200 characters");
    if (tools.length === 0) throw invalidField("tools", "must have at least one entry");
    checkClientTools(tools, "tools");
    if (threadId) await existingThread(this.#parts.log, keyOf(threadId));
    return { threadId: threadId || undefined, tools: tools.map((tool) => clientTool(tool, name)) };
  }
}

async function* signsOfLife(lasting: Lasting): AsyncGenerator<OfferFrame> {
  try {
    yield { payload: { case: "ready", value: {} } };
    for (;;) {
      const { end } = lasting;
      if (end === "left") return;
      if (end !== undefined) return yield { payload: { case: "closing", value: { reason: end } } };
      if (await lasting.wait()) yield { payload: { case: "heartbeat", value: {} } };
    }
  } finally {
    lasting.leave();
  }
}
