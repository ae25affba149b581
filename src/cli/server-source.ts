// A server as a source: gRPC, with followThread's own patience for cuts.
import { createClient } from "@connectrpc/connect";
import { ThreadService } from "../../gen/heddle/v1/thread_service_pb.js";
import { ToolCallService } from "../../gen/heddle/v1/tool_call_service_pb.js";
import { followThread } from "../client/index.js";
import { openNodeTransport } from "./node-transport.js";
import type { Source } from "./source.js";

/** A single answer must be there by then. */
const timeoutMs = 30_000;
const pageSize = 500;

export function openServer(server: string, token: string | undefined): Source {
  const { transport, close } = openNodeTransport(server, token);
  const threads = createClient(ThreadService, transport);
  const toolCalls = createClient(ToolCallService, transport);
  return {
    events: (options) => followThread(threads, options),
    async *threads(signal) {
      let pageToken = "";
      do {
        const page = await threads.listThreads({ pageSize, pageToken }, { signal, timeoutMs });
        yield* page.threads;
        pageToken = page.nextPageToken;
      } while (pageToken !== "");
    },
    call: (toolCallId, signal) => toolCalls.getToolCall({ toolCallId }, { signal, timeoutMs }),
    async *content(body, signal) {
      for await (const { data } of toolCalls.readToolCallContent(body, { signal })) yield data;
    },
    close: async () => close(),
  };
}
