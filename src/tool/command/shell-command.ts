// A line of shell as a model asks for it, and as a person sees it who is asked for a yes.
import { z } from "zod";
import type { Preview } from "../tool.js";
import { visible } from "./visible.js";

const commandUnits = 32_768;

export const shellCommand = z
  .string()
  .max(commandUnits)
  .regex(/\S/, "must not be empty")
  .refine((command) => !command.includes("\0"), "must not hold a NUL character");

export const commandPurpose = z.string().max(1_000).optional().describe("What it is for, in a few words");

export const shellArgv = (command: string): readonly [string, ...string[]] => ["/bin/sh", "-c", command];

/** The command comes last: nothing in it can pass for a line of ours below it. `time`: how long it may run. */
export function commandPreview(command: string, { isolation, time }: { isolation: string; time: string }): Preview {
  const lines = [
    `Isolation: ${isolation}`,
    `Time: ${time}`,
    "Command, run by /bin/sh in the workspace:",
    ...visible(command)
      .split("\n")
      .map((line) => `  ${line}`),
  ];
  return { mediaType: "text/plain", data: `${lines.join("\n")}\n` };
}
