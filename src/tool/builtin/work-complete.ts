// Says that the work is done. The run ends with it.
import { z } from "zod";
import { defineTool } from "../tool.js";

const summary = z.string().regex(/\S/, "must not be empty").max(20_000);

export const workComplete = defineTool({
  name: "work_complete",
  title: "Complete the work",
  description: "Say that all of the user's request is done, with a summary of what you did. Your turn ends.",
  kind: "other",
  input: z.object({ summary: summary.describe("What was done and what came of it, as the user will read it") }),
  output: z.object({ summary: summary.describe("As it was told") }),
  textFields: [{ field: "summary", purpose: "speech" }],
  describe: () => "Wrapping up",
  run: async ({ summary }) => ({ result: { summary }, summary: "Work complete", stopIteration: true }),
  toModel: () => "The work is complete, and the user has the summary.",
});
