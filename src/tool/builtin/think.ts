// Room to think between calls. Nothing happens; the thoughts are in the call's input, for whoever wants to know why.
import { z } from "zod";
import { defineTool } from "../tool.js";
import { counted } from "../words.js";

const thought = z.string().regex(/\S/, "must not be empty").max(10_000);

export const think = defineTool({
  name: "think",
  title: "Think",
  description: "Write down what you consider before a difficult step. It changes nothing and finds nothing out.",
  kind: "think",
  input: z.object({ thoughts: z.array(thought).min(1).max(20).describe("One consideration each") }),
  output: z.object({ considerations: z.number().int().describe("How many were noted") }),
  describe: () => "Thinking it through",
  run: async ({ thoughts }) => ({
    result: { considerations: thoughts.length },
    summary: `Noted ${counted(thoughts.length, "consideration", "considerations")}`,
  }),
  toModel: () => "Noted. Go on.",
});
