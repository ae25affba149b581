// What happens on most days.
import { calls, readFile, runCommand, says, searchWeb, stop, streams, texts } from "../agents.js";
import { type Group, run } from "../scenario.js";
import { passes } from "../stage.js";

const deploy = runCommand(async ({ signal }) => {
  await passes(900, signal);
  return { result: { version: "1.4.2" }, summary: "Deployed 1.4.2", stopIteration: true };
});

export const ordinary: Group = {
  title: "An ordinary day",
  scenarios: [
    {
      name: "text-only",
      title: "Text only",
      sentence:
        "The first piece of a message goes out at once; tokens that come faster than people read are joined, 30 ms at a time.",
      play: run({
        text: "What is a heddle?",
        replies: [
          streams(
            [
              ...texts("A ", "heddle ", "is ", "the ", "part ", "of a ", "loom ", "that ", "every ", "thread "),
              ...texts("passes ", "through."),
              ...stop(),
            ],
            { everyMs: 10 },
          ),
        ],
      }),
    },
    {
      name: "reasoning",
      title: "Reasoning before the answer",
      sentence: "What a model thinks has its own id and is over before it speaks.",
      play: run({
        text: "Is 91 a prime?",
        replies: [
          streams([{ type: "reasoning", text: "91 is 7 times 13." }, ...texts("No: 91 is 7 × 13."), ...stop()]),
        ],
      }),
    },
    {
      name: "one-tool",
      title: "One tool",
      sentence:
        "A call is created when it is named, and started when its input is whole; the model then goes on with its result.",
      play: run({
        text: "How long is the README?",
        replies: [
          calls({ name: "read_file", input: { path: "README.md" }, id: "call_8Zk" }),
          says("It has ", "12 lines."),
        ],
        tools: [readFile],
      }),
    },
    {
      name: "parallel",
      title: "Calls in parallel",
      sentence: "Calls of one reply run side by side, and the fast one is over while the slow one still runs.",
      play: run({
        text: "Look it up, and read the notes",
        replies: [
          calls({ name: "search_web", input: { query: "looms" } }, { name: "read_file", input: { path: "notes.md" } }),
          says("Both agree."),
        ],
        tools: [searchWeb, readFile],
      }),
    },
    {
      name: "sequential",
      title: "Calls in order",
      sentence: "With `parallel_tool_calls` off, a call starts when the one before it is over.",
      play: run({
        text: "Look it up, then read the notes",
        replies: [
          calls({ name: "search_web", input: { query: "looms" } }, { name: "read_file", input: { path: "notes.md" } }),
          says("Both agree."),
        ],
        tools: [searchWeb, readFile],
        options: { parallelToolCalls: false },
      }),
    },
    {
      name: "stopped-by-a-tool",
      title: "A tool ends the run",
      sentence: "A result can say that there is nothing left to do; the model is not asked again.",
      play: run({
        text: "Deploy it",
        replies: [calls({ name: "run_command", input: { command: "make deploy" } })],
        tools: [deploy],
      }),
    },
  ],
};
