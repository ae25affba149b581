// All that the API shows of a thread, as plain JSON, to compare.
import { toJson } from "@bufbuild/protobuf";
import { ToolCallSchema } from "../../gen/heddle/v1/tool_call_pb.js";
import { ThreadEventSchema } from "../../src/thread/event.js";
import { ThreadSchema } from "../../src/thread/schema.js";
import { type Core, storedEvents } from "./core.js";

export async function readEverything(core: Pick<Core, "threads" | "toolCalls">, threadId: string) {
  const { calls } = await core.toolCalls.list({ threadId, pageSize: 500, after: 0n });
  const withBodies = await Promise.all(
    calls.map(async ({ id }) => {
      const { call, contents } = await core.toolCalls.get(id);
      const bodies = contents.map(({ info, data }) => [info.contentId, Buffer.from(data).toString("utf8")] as const);
      return { call: toJson(ToolCallSchema, call), bodies: Object.fromEntries(bodies) };
    }),
  );
  return {
    thread: toJson(ThreadSchema, await core.threads.get(threadId)),
    events: (await storedEvents(core, threadId)).map((event) => toJson(ThreadEventSchema, event)),
    calls: withBodies,
  };
}
