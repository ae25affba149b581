// A data directory as a source. It is only read, also while a server owns it: what is there now is all there is to follow.
import { create } from "@bufbuild/protobuf";
import { GetToolCallResponseSchema } from "../../gen/heddle/v1/tool_call_service_pb.js";
import { readOffline } from "../compose.js";
import type { Source } from "./source.js";

const pageSize = 500;

export async function openDirectory(dataDir: string): Promise<Source> {
  const { threads, toolCalls, close } = await readOffline(dataDir);
  return {
    dataDir,
    async *events({ threadId, afterSequence, control, signal }) {
      for await (const event of threads.follow({ threadId, afterSequence, follow: false }, signal)) {
        if (event.sequence !== 0n || control === true) yield event;
      }
    },
    async *threads(signal) {
      let after = "";
      do {
        signal.throwIfAborted();
        const page = await threads.list({ pageSize, after });
        yield* page.threads;
        after = page.nextAfter;
      } while (after !== "");
    },
    async call(toolCallId) {
      const { call, contents } = await toolCalls.get(toolCallId);
      return create(GetToolCallResponseSchema, { toolCall: call, contents: [...contents] });
    },
    async *content(body, signal) {
      for await (const { data } of toolCalls.readContent({ ...body, offset: 0n })) {
        signal.throwIfAborted();
        yield data;
      }
    },
    async *approvals(signal) {
      signal.throwIfAborted();
      yield* await toolCalls.approvals({ threadId: "", pageSize: Number.MAX_SAFE_INTEGER, after: "" });
    },
    close,
  };
}
