// The bodies of calls, read for the Responses door.
import type { EventLog } from "./log/event-log.js";
import { resultText } from "./loop/conversation.js";
import type { Bodies } from "./projection/responses/join.js";
import { readDiscovery } from "./recorder/discoveries.js";
import { keyOf } from "./request-fields.js";
import type { ToolCallId } from "./thread/ids.js";

/** What is shown of one body. */
const shownBytes = 1024 * 1024;

export const storedBodies = (log: EventLog): Bodies => ({
  text: async (threadId, toolCallId, contentId) => {
    const body = { callId: toolCallId as ToolCallId, contentId };
    const bytes = await log.readBody(keyOf(threadId), body, { offset: 0, maxBytes: shownBytes });
    return bytes && Buffer.from(bytes).toString("utf8");
  },
  told: (threadId, { toolCallId, outcome, summary, error }) =>
    resultText(log, keyOf(threadId), {
      id: toolCallId as ToolCallId,
      outcome,
      summary,
      message: error?.message ?? "",
    }),
  list: async (threadId, discoveryId) => (await readDiscovery(log, keyOf(threadId), discoveryId))?.toolsJson ?? "[]",
});
