// Asks the user. The run ends with the question; the answer comes with the user's next message.
import { z } from "zod";
import { defineTool } from "../tool.js";
import { oneLine } from "../words.js";

const question = z.string().regex(/\S/, "must not be empty").max(10_000);
const options = z.array(z.string().regex(/\S/, "must not be empty").max(500)).max(20);

export const clarify = defineTool({
  name: "clarify",
  title: "Ask the user",
  description:
    "Ask the user one question when you cannot go on without the answer. Your turn ends; the answer is the user's next message.",
  kind: "other",
  input: z.object({
    question: question.describe("The question, as the user will read it"),
    options: options.optional().describe("Answers that the user can choose from, where there are a few obvious ones"),
  }),
  output: z.object({
    question: question.describe("As it was asked"),
    options: options.optional().describe("As they were offered"),
  }),
  textFields: [{ field: "question", purpose: "speech" }],
  describe: () => "Asking you a question",
  run: async (input) => ({ result: input, summary: `Asked: "${oneLine(input.question)}"`, stopIteration: true }),
  toModel: () => "The question is with the user. The answer comes as the user's next message.",
});
