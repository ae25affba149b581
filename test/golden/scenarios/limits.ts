// Limits that end a run.
import { calls, readFile } from "../agents.js";
import { type Cast, type Group, run } from "../scenario.js";

const again = (path: string) => calls({ name: "read_file", input: { path } });
const reading: Cast = {
  text: "Read everything",
  replies: [again("one.md"), again("two.md")],
  tools: [readFile],
};

export const limits: Group = {
  title: "Limits",
  scenarios: [
    {
      name: "step-limit",
      title: "The step limit",
      sentence: "The model may answer twice here; what it has called still runs, and it is not asked again.",
      play: run({ ...reading, options: { maxSteps: 2 } }),
    },
    {
      name: "token-limit",
      title: "The token limit",
      sentence: "300 tokens here, and each reply uses 150: the same, by what has been used.",
      play: run({ ...reading, options: { maxTokens: 300n } }),
    },
  ],
};
