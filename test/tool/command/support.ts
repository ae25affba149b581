// What the suites about commands share: places to run in, contexts with a call of their own, and who is still alive.
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CommandSettings, type Commands, prepareCommands } from "../../../src/tool/command/commands.js";
import { runProcess } from "../../../src/tool/command/run-process.js";
import { requireTool } from "../../support/tools.js";
import { KeptContext } from "../support.js";

/** Installed, and allowed to make what it needs. */
export const hasBubblewrap = (): boolean =>
  requireTool("bubblewrap", ["bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--unshare-all", "true"]);

export const hasGit = (): boolean => requireTool("git", ["git", "--version"]);

export const settings: CommandSettings = { sandbox: "none", network: false, env: [], timeoutMs: 60_000 };

/** Without a sandbox, and with one where there is one. */
export const ways = [
  { way: "without a sandbox", sandbox: "none", isHere: true },
  { way: "in bubblewrap (needs it)", sandbox: "bubblewrap", isHere: hasBubblewrap() },
] as const;

export const prepared = (changes: Partial<CommandSettings> = {}): Commands =>
  prepareCommands({ ...settings, ...changes }, undefined);

/** A context of one call, whose processes can be told from all others. */
export class CallContext extends KeptContext {
  override readonly toolCallId: string = randomUUID();
  readonly printed: Record<"stdout" | "stderr", string> = { stdout: "", stderr: "" };

  override output(stream: "stdout" | "stderr", text: string): void {
    this.printed[stream] += text;
    super.output(stream, text);
  }

  /** Processes of the call that run. */
  alive(): number {
    return alive(this.toolCallId);
  }
}

/** Processes that run with a mark that begins like this, found by their environment alone. */
export function alive(mark: string): number {
  const isMarked = (pid: string): boolean => {
    try {
      // What has ended has no environment any longer.
      return readFileSync(`/proc/${pid}/environ`, "latin1").includes(`HEDDLE_CALL=${mark}`);
    } catch {
      return false;
    }
  };
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isMarked(name)).length;
}

/** An empty directory, without symbolic links in its path. */
export async function workplace(): Promise<{ path: string } & AsyncDisposable> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "heddle-command-")));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Runs a line of shell without any sandbox. */
export async function shell(
  command: string,
  options: Partial<Omit<Parameters<typeof runProcess>[0], "argv" | "mark">> = {},
) {
  const mark = randomUUID();
  const end = await runProcess({
    argv: ["/bin/sh", "-c", command],
    cwd: tmpdir(),
    env: { PATH: process.env["PATH"]! },
    timeoutMs: 60_000,
    signal: new AbortController().signal,
    onOutput: () => {},
    mark,
    ...options,
  });
  return { ...end, mark, alive: () => alive(mark) };
}
