// Bodies that are too large for the stream.
import { z } from "zod";
import { calls, piece, runCommand, says, stop, streams, writeFile } from "../agents.js";
import { type Group, run } from "../scenario.js";

const pieces = Array.from({ length: 24 }, (_, index) => String.fromCharCode(97 + index).repeat(32 * 1024));
const input = ['{"path":"big.txt","text":"', ...pieces, '"}'];

const logs = runCommand(
  async ({ output }) => {
    const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index + 1}\n`).join("");
    output("stdout", "line 1\nline 2\n…\n");
    return { result: { lines }, summary: "Printed 20000 lines", exitCode: 0 };
  },
  { toModel: ({ lines }: { lines: string }) => lines },
);

export const bodies: Group = {
  title: "Large bodies",
  scenarios: [
    {
      name: "large-input",
      title: "Input beyond 512 KiB",
      sentence:
        "The deltas stop at the bound and InputCompleted says so; the whole input, with its size and hash, is behind GetToolCall.",
      play: run({
        text: "Write the alphabet",
        replies: [
          streams([
            piece(0, { name: "write_file" }),
            ...input.map((text) => piece(0, { input: text })),
            ...stop("tool_calls"),
          ]),
          says("Written."),
        ],
        tools: [writeFile],
      }),
    },
    {
      name: "large-result",
      title: "A result too large for the model",
      sentence:
        "The stream carries its size alone; the model is told the beginning and the end, and the whole is behind GetToolCall.",
      play: run({
        text: "Show the log",
        replies: [calls({ name: "run_command", input: { command: "cat log" } }), says("It is long.")],
        tools: [{ ...logs, output: z.object({ lines: z.string() }) }],
      }),
    },
  ],
};
