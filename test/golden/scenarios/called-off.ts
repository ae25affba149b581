// Calls that somebody, or a clock, ended. None of them has failed (T4).
import { calls, endless, says } from "../agents.js";
import { type Cast, type Group, run, runUntil, toTheEnd } from "../scenario.js";
import { passes } from "../stage.js";

const watching: Cast = {
  text: "Watch the build",
  replies: [calls({ name: "run_command", input: { command: "make watch" } }), says("Then not.")],
  tools: [endless],
};

export const calledOff: Group = {
  title: "Calls that are called off",
  scenarios: [
    {
      name: "tool-timeout",
      title: "The tool's time is up",
      sentence: "The tool is stopped and the run goes on.",
      play: run({ ...watching, tools: [{ ...endless, timeoutMs: 2_000 }] }),
    },
    {
      name: "run-timeout",
      title: "The run's time is up",
      sentence: "Everything under way is stopped, and the run ends as incomplete.",
      play: run({ ...watching, options: { timeLimit: { seconds: 3n } } }),
    },
    {
      name: "cancel-run",
      title: "CancelRun",
      sentence: "Its calls end first, then the run.",
      play: async (stage) => {
        const cast = {
          ...watching,
          replies: [
            calls(
              { name: "run_command", input: { command: "make watch" } },
              { name: "run_command", input: { command: "make serve" } },
            ),
          ],
        };
        const running = await runUntil(stage, cast, "toolCallStarted");
        await passes(1_000);
        await running.core.threads.cancelRun(running.threadId, running.runId);
        return toTheEnd(running);
      },
    },
    {
      name: "cancel-run-mid-input",
      title: "CancelRun while the model writes",
      sentence: "The call has not started, and never will: it has no duration.",
      play: async (stage) => {
        const running = await runUntil(stage, watching, "toolCallCreated");
        await running.core.threads.cancelRun(running.threadId, running.runId);
        return toTheEnd(running);
      },
    },
    {
      name: "cancel-tool-call",
      title: "CancelToolCall",
      sentence: "One call is called off, with the reason that was given; the model is told, and goes on.",
      play: async (stage) => {
        const running = await runUntil(stage, watching, "toolCallStarted");
        await passes(1_000);
        await running.core.toolCalls.cancel(running.toolCallId, "it takes too long");
        return toTheEnd(running);
      },
    },
  ],
};
