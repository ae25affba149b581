// What the tools that start programs share: the isolation that was found, the environment, and the limits.
import { randomUUID } from "node:crypto";
import { realpath } from "node:fs/promises";
import { type ToolContext, ToolFailure } from "../tool.js";
import { tasksOf } from "./begin-process.js";
import { commandEnvironment } from "./environment.js";
import { findSandbox } from "./find-sandbox.js";
import { Guard } from "./guard.js";
import { type ProcessEnd, runProcess } from "./run-process.js";
import type { HeldCommand, Sandbox } from "./sandbox.js";
import { Standby } from "./standby.js";
import { processLimits } from "./watch-processes.js";

/** As the configuration has them, and what only the server knows. */
export interface CommandSettings {
  readonly sandbox: "auto" | "bubblewrap" | "none";
  /** Whether commands in a sandbox reach the network. */
  readonly network: boolean;
  /** Names of further variables that commands are given. */
  readonly env: readonly string[];
  /** How long a command may take that asks for no other time. */
  readonly timeoutMs: number;
  /** Absolute paths of the server that commands in a sandbox must not see. */
  readonly hidden?: readonly string[];
  /** What variables are taken from. Undefined: the server's own. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export interface Commands {
  readonly sandbox: Sandbox;
  /** Sees to the end of what runs, should the server die. */
  readonly guard: Guard;
  /** Starts the next one in a sandbox. */
  readonly standby: Standby;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** Throws `invalid_config` when the isolation that is wished for is not to be had. */
export function prepareCommands(settings: CommandSettings, workspace: string | undefined): Commands {
  const { hidden = [], timeoutMs } = settings;
  const environment = commandEnvironment(settings.environment ?? process.env, settings.env);
  const { sandbox, network } = settings;
  const path = environment["PATH"]!;
  const found = findSandbox({ sandbox, network, hidden, workspace, path });
  const standby = new Standby(tasksOf(processLimits));
  return { sandbox: found, guard: new Guard(), standby, environment, timeoutMs };
}

export interface Command {
  readonly argv: readonly [program: string, ...args: string[]];
  readonly access: "read" | "write";
  readonly timeoutMs: number;
  /** Beside those that every command gets. */
  readonly env?: Readonly<Record<string, string>>;
  /** The workspace, unless said. */
  readonly cwd?: string;
  /** Whether what it prints is told as it comes. */
  readonly isTold?: boolean;
}

/** Runs it in the workspace, held in as well as it can be here. */
export async function runHeld(commands: Commands, command: Command, context: ToolContext): Promise<ProcessEnd> {
  const { timeoutMs, isTold = true } = command;
  const { toolCallId, signal } = context;
  signal.throwIfAborted();
  const held = await holdCommand(commands, command, context);
  const onOutput = (stream: "stdout" | "stderr", text: string): void => {
    if (isTold) context.output(stream, text);
  };
  try {
    const mark = `${toolCallId}.${randomUUID()}`;
    // What is in a sandbox ends with the server by itself.
    const { guard, standby } = commands;
    const helper = held.isSandbox ? { standby } : { guard };
    return await runProcess({ ...held, ...helper, mark, timeoutMs, signal, onOutput });
  } finally {
    await held.release();
  }
}

/** As it is started. Contract: rejects with a ToolFailure, and starts nothing, when it cannot be held in. */
export async function holdCommand(
  { sandbox, environment }: Commands,
  command: Omit<Command, "timeoutMs" | "isTold">,
  context: Pick<ToolContext, "workspace">,
): Promise<HeldCommand> {
  const workspace = await workspaceOf(context);
  return sandbox.hold({ ...command, workspace, env: { ...environment, ...command.env } });
}

/** Without symbolic links. */
export async function workspaceOf({ workspace }: Pick<ToolContext, "workspace">): Promise<string> {
  if (workspace === undefined)
    throw new ToolFailure("There is no workspace; go on without commands", { code: "ENOENT" });
  return realpath(workspace).catch((cause: NodeJS.ErrnoException) => {
    throw new ToolFailure("The workspace cannot be reached; go on without commands", { code: cause.code ?? "", cause });
  });
}
