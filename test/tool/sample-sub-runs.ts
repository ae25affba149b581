// Sub-agents that are done at once, or never.
import type { SubRunEnd, SubRuns } from "../../src/tool/delegate/sub-runs.js";

/** The prompt of a task that goes on until it is called off. */
export const endlessTask = "Go on for ever.";

export const finished: SubRunEnd = {
  childThreadId: "00000000-0000-8000-8000-000000000003",
  outcome: "succeeded",
  finishReason: "stop",
  errorMessage: "",
  text: "The plan is sound.",
  toolCalls: 9,
  durationMs: 41_200,
};

export const sampleSubRuns: SubRuns = {
  run: async ({ prompt, signal, onProgress }) => {
    if (signal.aborted) return { ...finished, outcome: "cancelled" };
    onProgress({ toolCalls: 3, summary: "Reading src/a.ts", isWaiting: false });
    if (prompt !== endlessTask) return finished;
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    return { ...finished, outcome: "cancelled" };
  },
};
