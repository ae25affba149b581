// The sandbox of bubblewrap: namespaces of its own for processes, network, users and mounts; the system read-only, the workspace
// writable, nothing of the server's in sight.
import { release } from "node:os";
import { ToolFailure } from "../tool.js";
import { guardGit } from "./git-guard.js";
import { hidePlaces } from "./hidden-places.js";
import type { HeldCommand, Sandbox, SandboxedCommand } from "./sandbox.js";

export interface BubblewrapOptions {
  /** Where the program is. */
  readonly program: string;
  /** What this version of it can do beyond the oldest. */
  readonly canSize: boolean;
  readonly canDisableUserns: boolean;
  /** Whether commands reach the network. */
  readonly network: boolean;
  /** Paths of the server that commands must not see. */
  readonly hidden: readonly string[];
}

/** Memory that is taken by files in /tmp and /dev/shm, each. */
const scratchBytes = 1024 ** 3;

export function bubblewrap(options: BubblewrapOptions): Sandbox {
  const network = options.network ? "network open" : "no network";
  return {
    isolation: `bubblewrap: ${network}, read-only system, writable workspace`,
    isSandbox: true,
    hold: (command) => hold(command, options),
  };
}

async function hold(command: SandboxedCommand, options: BubblewrapOptions): Promise<HeldCommand> {
  const { argv, workspace, cwd = workspace, access, env } = command;
  if (workspace === "/")
    throw new ToolFailure("The workspace is the whole file system, which no sandbox can hold in; work in a directory", {
      code: "EINVAL",
    });
  const guard = access === "write" ? await guardGit(workspace) : undefined;
  const hiding = await hidePlaces(workspace, env["HOME"], options.hidden);
  const args = [
    ...systemArgs(options),
    ...hiding.around,
    ...(access === "write" ? ["--bind", workspace, workspace] : ["--ro-bind", workspace, workspace]),
    ...(guard?.args ?? []),
    ...hiding.within,
    "--chdir",
    cwd,
  ];
  return {
    argv: [options.program, ...supported(args, options), "--", ...bounded(argv)],
    cwd: "/",
    env: { ...env, TMPDIR: "/tmp" },
    isSandbox: true,
    release: async () => guard?.release(),
  };
}

/** Processes and threads. Far above what is watched for: it is for what grows faster than anybody looks. */
const mostTasks = 2_048;

/**
 * The command with a limit of the kernel on its tasks. Since 5.14 it counts those of a sandbox alone; before, all of the user's,
 * and root's never: there a control group bounds them, where one can be made.
 */
function bounded(argv: readonly string[]): readonly string[] {
  const [major = 0, minor = 0] = release().split(".").map(Number);
  const isCounted = process.getuid?.() !== 0 && (major > 5 || (major === 5 && minor >= 14));
  if (!isCounted) return argv;
  const limit = `ulimit -u ${mostTasks} 2>/dev/null || ulimit -p ${mostTasks} 2>/dev/null; exec "$@"`;
  return ["/bin/sh", "-c", limit, "sh", ...argv];
}

/** Everything but the workspace. Also what is tried once, to see whether it works here. */
export function systemArgs({ network, canDisableUserns }: BubblewrapOptions): string[] {
  return [
    "--unshare-all",
    ...(network ? ["--share-net"] : []),
    ...(canDisableUserns ? ["--unshare-user", "--disable-userns"] : []),
    "--new-session",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
    ...["--ro-bind", "/", "/"],
    ...["--dev", "/dev", "--size", String(scratchBytes), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"],
    // Read-only: root without capabilities still owns /proc/sys, and what is written there acts on the whole machine.
    ...["--proc", "/proc", "--remount-ro", "/proc"],
    ...["--size", String(scratchBytes), "--tmpfs", "/tmp"],
    // Sockets can be reached through a read-only file system: those of the system's services are here.
    ...["--size", "4096", "--tmpfs", "/run"],
    ...(network ? ["--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"] : []),
    ...["--ro-bind-try", "/run/current-system", "/run/current-system"],
  ];
}

/** Older versions do not know `--size`: there a directory in memory is as large as the system lets it be. */
export function supported(args: readonly string[], { canSize }: Pick<BubblewrapOptions, "canSize">): string[] {
  if (canSize) return [...args];
  return args.filter((arg, index) => arg !== "--size" && args[index - 1] !== "--size");
}
