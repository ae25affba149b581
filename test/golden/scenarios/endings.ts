// Calls that the model got wrong, and calls that ran and did not work out.
import { ToolFailure } from "../../../src/tool/tool.js";
import { calls, piece, readFile, runCommand, says, stop, streams } from "../agents.js";
import { type Group, run } from "../scenario.js";
import { passes } from "../stage.js";

const tools = [readFile];

export const rejected: Group = {
  title: "Calls that never start",
  scenarios: [
    {
      name: "unknown-tool",
      title: "Unknown tool",
      sentence: "The call is rejected, and the model is told which tools there are.",
      play: run({
        text: "Read the notes",
        replies: [calls({ name: "open_file", input: { path: "notes.md" } }), says("I cannot.")],
        tools,
      }),
    },
    {
      name: "invalid-json",
      title: "Input that is not JSON",
      sentence: "The input is kept as the model wrote it; the summary says where it breaks.",
      play: run({
        text: "Read the notes",
        replies: [calls({ name: "read_file", input: '{"path": notes.md}' }), says("I cannot.")],
        tools,
      }),
    },
    {
      name: "schema-violation",
      title: "Input that does not fit",
      sentence: "The summary names the field and what it must be.",
      play: run({
        text: "Read the notes",
        replies: [calls({ name: "read_file", input: { path: ["notes.md"] } }), says("I cannot.")],
        tools,
      }),
    },
    {
      name: "truncated-input",
      title: "Input that was cut off",
      sentence: "The reply reached the model's length limit in the middle of an input: that is its own kind of error.",
      play: run({
        text: "Read the notes",
        replies: [
          streams([piece(0, { name: "read_file", input: '{"path":"notes' }), ...stop("truncated", "length")]),
          says("I cannot."),
        ],
        tools,
      }),
    },
  ],
};

export const failed: Group = {
  title: "Calls that fail",
  scenarios: [
    {
      name: "tool-throws",
      title: "The tool throws",
      sentence: "What it throws is the summary, and its code is kept.",
      play: run({
        text: "Push it",
        replies: [calls({ name: "run_command", input: { command: "git push" } }), says("It did not work.")],
        tools: [
          runCommand(async ({ signal }) => {
            await passes(250, signal);
            throw new ToolFailure("The remote refused the connection; check the network", { code: "ECONNREFUSED" });
          }),
        ],
      }),
    },
    {
      name: "result-says-error",
      title: "The result says that it is an error",
      sentence: "The tool returned in good order, but the call has failed: a failed command is no success (T4).",
      play: run({
        text: "Run the tests",
        replies: [calls({ name: "run_command", input: { command: "npm test" } }), says("Two fail.")],
        tools: [
          runCommand(async ({ signal, output }) => {
            await passes(700, signal);
            output("stderr", "2 tests failed\n");
            return { isError: true, result: { failed: 2 }, summary: "Ran npm test (exit code 1)", exitCode: 1 };
          }),
        ],
      }),
    },
  ],
};
