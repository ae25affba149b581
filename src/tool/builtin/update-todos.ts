// Keeps the agent's to-do list, for everyone who follows the thread. Each call gives the whole list.
import { z } from "zod";
import { limits } from "../../thread/limits.js";
import { defineTool, ToolFailure } from "../tool.js";
import { counted } from "../words.js";

const item = z.object({
  content: z.string().regex(/\S/, "must not be empty").max(500).describe("What is to be done, in one line"),
  status: z.enum(["pending", "in_progress", "completed"]).describe("At most one item is in progress"),
});
type Item = z.infer<typeof item>;

export const updateTodos = defineTool({
  name: "update_todos",
  title: "Update to-do list",
  description:
    "Write the to-do list of the work, which the user sees: all items each time, in order. Keep one item in progress, and say when it is done.",
  kind: "think",
  input: z.object({ items: z.array(item).max(limits.planEntries).describe("All items. None: the list is cleared") }),
  output: z.object({
    completed: z.number().int().describe("Items"),
    inProgress: z.number().int().describe("Items"),
    pending: z.number().int().describe("Items"),
  }),
  describe: ({ items }) => `Updating the to-do list (${counted(items.length, "item", "items")})`,
  run: async ({ items }, context) => {
    const inProgress = countOf(items, "in_progress");
    if (inProgress > 1)
      throw new ToolFailure(
        `${inProgress === 2 ? "Two" : inProgress} items in progress; keep one, and set the others to pending`,
        { code: "EINVAL" },
      );
    context.plan(items);
    const result = { completed: countOf(items, "completed"), inProgress, pending: countOf(items, "pending") };
    return { result, summary: `To-do list: ${words(result)}` };
  },
  toModel: (result) => `The to-do list is up to date: ${words(result)}.`,
});

const countOf = (items: readonly Item[], status: Item["status"]): number =>
  items.filter((one) => one.status === status).length;

function words({ completed, inProgress, pending }: { completed: number; inProgress: number; pending: number }): string {
  if (completed + inProgress + pending === 0) return "empty";
  return `${completed} done, ${inProgress} in progress, ${pending} open`;
}
