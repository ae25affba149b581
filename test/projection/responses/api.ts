// The Responses API upon a core, without HTTP: requests as callers write them, events as they leave.
import { encoded, eventsOf, type NumberedFrame } from "../../../src/projection/responses/events.js";
import { understand } from "../../../src/projection/responses/request.js";
import { parseRequest } from "../../../src/projection/responses/request-shape.js";
import { responseId } from "../../../src/projection/responses/response-id.js";
import { folded } from "../../../src/projection/responses/snapshot.js";
import { storedBodies } from "../../../src/response-bodies.js";
import type { StoredResponse } from "../../../src/responses.js";
import type { Core } from "../../support/core.js";

export interface Created {
  readonly id: string;
  readonly stored: StoredResponse;
  /** All events to its end. */
  events(after?: number): Promise<NumberedFrame[]>;
  /** The same as they go over the wire. */
  wire(): Promise<string>;
  /** As it stands. */
  response(): Promise<Readonly<Record<string, unknown>>>;
}

export function openApi(core: Core, { builtIn = "mcp" as const }: { builtIn?: "mcp" | "function" } = {}) {
  const { log, responses, supply } = core;
  const reading = { responses, bodies: storedBodies(log), builtIn };
  const offered = {
    models: ["test:model"],
    defaultModel: "test:model",
    tools: [...supply.tools.names()],
    servers: ["weather"],
  };
  const create = async (request: object): Promise<Created> => {
    const asked = understand(parseRequest(JSON.stringify(request)), offered);
    const segment = await responses.begin({ ...asked.begin, record: JSON.stringify(asked.record) }, asked.previous);
    const stored = await responses.get(segment);
    const events = async (after = -1): Promise<NumberedFrame[]> => {
      const frames: NumberedFrame[] = [];
      for await (const frame of eventsOf(stored, reading, new AbortController().signal))
        if (frame.number > after) frames.push(frame);
      return frames;
    };
    return {
      id: responseId(segment),
      stored,
      events,
      wire: async () => (await events()).map((frame) => encoded(frame).toString()).join(""),
      response: async () => (await folded(stored, reading)).response(),
    };
  };
  return { create, responses };
}
