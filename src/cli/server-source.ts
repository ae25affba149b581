// A server as a source: gRPC, with followThread's own patience for cuts.
import { followThread } from "../client/index.js";
import { openClients, type ServerPlace } from "./server-clients.js";
import type { Source } from "./source.js";

/** A single answer must be there by then. */
const timeoutMs = 30_000;
const pageSize = 500;

export function openServer(place: ServerPlace): Source {
  const { threads, toolCalls, events, close } = openClients(place);
  return {
    events: (options) => followThread(events, options),
    async *threads(signal) {
      let pageToken = "";
      do {
        const page = await threads().listThreads({ pageSize, pageToken }, { signal, timeoutMs });
        yield* page.threads;
        pageToken = page.nextPageToken;
      } while (pageToken !== "");
    },
    call: (toolCallId, signal) => toolCalls().getToolCall({ toolCallId }, { signal, timeoutMs }),
    async *content(body, signal) {
      for await (const { data } of toolCalls().readToolCallContent(body, { signal })) yield data;
    },
    async *approvals(signal) {
      let pageToken = "";
      do {
        const page = await toolCalls().listApprovals({ pageSize, pageToken }, { signal, timeoutMs });
        yield* page.toolCalls;
        pageToken = page.nextPageToken;
      } while (pageToken !== "");
    },
    async answer(answer, signal) {
      await toolCalls().resolveApproval(answer, { signal, timeoutMs });
    },
    close: async () => close(),
  };
}
