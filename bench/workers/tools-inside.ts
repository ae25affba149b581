// A server's inside with the tools that come with Heddle, and the same work by hand. Arguments: a data directory for Heddle, one for
// raw LMDB, and a workspace.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { answerAsks } from "../support/ask.js";
import { load, openBuiltCore, wire } from "../support/built.js";
import { TimedCalls } from "../support/timed-calls.js";

const [dir, rawDir, workspace] = process.argv.slice(2) as [string, string, string];

export interface Work {
  readonly tool: "read_file" | "run_command";
  readonly count: number;
}

const inputs = { read_file: { path: "file.txt" }, run_command: { command: "true" } } as const;
const commandSettings = { sandbox: "auto", network: false, env: [], timeoutMs: 60_000 } as const;

const { builtinTools } = await load<typeof import("../../src/tool/builtin/index.js")>("tool/builtin/index.js");
const { Workspace } = await load<typeof import("../../src/tool/workspace/workspace.js")>("tool/workspace/workspace.js");
const { prepareCommands } = await load<typeof import("../../src/tool/command/commands.js")>("tool/command/commands.js");
const { log } = await openBuiltCore(dir);
const calls = new TimedCalls(log, rawDir);
const core = await wire(calls.log, {
  model: calls.model,
  tools: builtinTools({ workspace, commands: commandSettings }),
  agent: { workspace, trusted: true, maxSteps: 1000 },
});
const commands = prepareCommands(commandSettings, workspace);
const callsOf = ({ tool, count }: Work) => ({ tool, input: inputs[tool], count });

const asks = {
  isolation: async () => commands.sandbox.isolation,
  warmUp: (work: Work): Promise<void> => calls.warmUp(core, callsOf(work)),
  heddle: (work: Work): Promise<number[]> => calls.run(core, callsOf(work)),
  byHand: ({ tool, count, isBare = false }: Work & { readonly isBare?: boolean }): Promise<number[]> =>
    calls.byHand(count, tool === "run_command" ? commandByHand : isBare ? readBare : readByHand),
};

/** In the same sandbox: nothing leads out of the workspace. */
async function readByHand(): Promise<number> {
  await using held = await Workspace.open(workspace);
  const { text } = await held.readText(inputs.read_file.path, 1024 * 1024);
  return text.split("\n").length;
}

async function readBare(): Promise<number> {
  const text = await readFile(join(workspace, inputs.read_file.path), "utf8");
  return text.split("\n").length;
}

async function commandByHand(): Promise<void> {
  const argv = ["/bin/sh", "-c", inputs.run_command.command] as const;
  const held = await commands.sandbox.hold({ argv, workspace, env: commands.environment, access: "write" });
  const [program, ...args] = held.argv;
  const child = spawn(program, args, { cwd: held.cwd, env: held.env, stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.resume();
  child.stderr.resume();
  await once(child, "close");
  await held.release();
}

export type ToolsAsks = typeof asks;
answerAsks(asks);
