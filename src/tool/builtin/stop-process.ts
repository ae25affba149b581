// Ends a background process of the thread with everything that it started: asked first, then killed.
import { z } from "zod";
import { processId } from "../process/process-words.js";
import type { Processes } from "../process/processes.js";
import { defineTool, type ToolDefinition } from "../tool.js";
import { oneLine } from "../words.js";

/** Far longer than processes take to be gone: one that hangs on a broken disk is given up before. */
const timeoutMs = 30_000;

const input = z.object({ process_id: processId });

const output = z.object({
  processId: z.string().describe("Its name in this thread"),
  summary: z.string().describe("How it ended"),
});

export function stopProcess(processes: Processes): ToolDefinition<typeof input, typeof output> {
  return defineTool({
    name: "stop_process",
    title: "Stop process",
    description:
      "Stop a background process of this thread and everything that it started. It is asked to end, and killed when it does not. What it printed can still be read.",
    kind: "execute",
    input,
    output,
    // Only what belongs to the thread can be stopped.
    policy: "allow",
    timeoutMs,
    describe: ({ process_id: id }) => `Stopping ${oneLine(id) || "a process"}`,
    run: async ({ process_id: id }, { threadId, signal }) => {
      signal.throwIfAborted();
      const { summary } = await processes.stop(threadId, id, signal);
      return { result: { processId: id, summary }, summary: `Stopped ${id}` };
    },
    toModel: ({ processId: id, summary }) => `Process ${id} is over: ${summary}.`,
  });
}
