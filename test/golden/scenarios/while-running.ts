// What a call says between Started and Complete.
import { calls, runCommand, says } from "../agents.js";
import { type Group, run } from "../scenario.js";
import { passes } from "../stage.js";

const tests = runCommand(async ({ signal, output, phase, progress }) => {
  phase("connecting", "Starting a sandbox");
  await passes(400, signal);
  phase("interpreting");
  output("stdout", "> vitest run\n");
  for (let done = 1; done <= 3; done++) {
    await passes(200, signal);
    progress(done, 3, `${done} of 3 files`);
    output("stdout", `ok file-${done}.test.ts\n`);
  }
  output("stderr", "1 warning\n");
  return { result: { passed: 3 }, summary: "Ran npm test (exit code 0)", exitCode: 0 };
});

const quiet = runCommand(async ({ signal }) => {
  await passes(12_000, signal);
  return { result: { built: true }, summary: "Built it" };
});

export const whileRunning: Group = {
  title: "While a call runs",
  scenarios: [
    {
      name: "progress-and-output",
      title: "Phases, progress and output",
      sentence:
        "Output carries the stream and the byte it begins at; each Progress stands alone, with the summary of Started and the time since.",
      play: run({
        text: "Run the tests",
        replies: [calls({ name: "run_command", input: { command: "npm test" } }), says("All green.")],
        tools: [tests],
      }),
    },
    {
      name: "still-running",
      title: "A quiet tool",
      sentence: "A tool that says nothing for 5 s gets a sign of life, and another 5 s later.",
      play: run({
        text: "Build it",
        replies: [calls({ name: "run_command", input: { command: "make" } }), says("Built.")],
        tools: [quiet],
      }),
    },
  ],
};
