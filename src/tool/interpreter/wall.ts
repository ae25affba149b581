// What is around an interpreter's process. pyodide is no boundary: code that gets out of it is in Node, and has what the process
// has. With bubblewrap that is nothing: no network, no file but Node's own and the interpreters', none that can be written, no
// other process to be seen or started. Without it, the process has the server's own rights, and its limits alone.
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface HeldProcess {
  readonly argv: readonly [program: string, ...args: string[]];
  /** What the program reads from descriptor 3 before anything else. Undefined: it has none. */
  readonly rules: Buffer | undefined;
}

export interface Wall {
  readonly isIsolated: boolean;
  /** What is in force: one line. */
  readonly isolation: string;
  /** `readable`: the only files and directories that it has to see beside the program's own. */
  hold(argv: readonly [program: string, ...args: string[]], readable: readonly string[]): HeldProcess;
}

/** `why`: what keeps it from being held in. */
export const noWall = (why: string): Wall => ({
  isIsolated: false,
  isolation: `none: ${why}; code that gets out of its interpreter has the server's own rights`,
  hold: (argv) => ({ argv, rules: undefined }),
});

export interface BubblewrapWall {
  readonly program: string;
  readonly canDisableUserns: boolean;
  /** What Node itself is made of. */
  readonly system: readonly string[];
  /** What the kernel is to refuse. Undefined: no more than bubblewrap does. */
  readonly rules: Buffer | undefined;
}

export const bubblewrapWall = (wall: BubblewrapWall): Wall => ({
  isIsolated: true,
  isolation: "bubblewrap: no network, no files but its own in memory, no other processes",
  hold: (argv, readable) => ({ argv: [wall.program, ...wallArgs(wall, readable), "--", ...argv], rules: wall.rules }),
});

/** Descriptor 3 is the only one that is handed over beside the three of every process. */
const rulesDescriptor = "3";

export const wallArgs = (wall: Omit<BubblewrapWall, "program">, readable: readonly string[]): string[] => [
  "--unshare-all",
  ...(wall.canDisableUserns ? ["--unshare-user", "--disable-userns"] : []),
  "--new-session",
  "--die-with-parent",
  ...["--cap-drop", "ALL"],
  ...["--unsetenv", "HEDDLE_CALL", "--unsetenv", "PWD"],
  ...[...wall.system, ...readable].flatMap((path) => ["--ro-bind", path, path]),
  // Without /proc nothing can be written into the memory of a process, and no limit be changed.
  ...["--dev", "/dev", "--remount-ro", "/dev", "--remount-ro", "/"],
  ...["--chdir", "/"],
  ...(wall.rules === undefined ? [] : ["--seccomp", rulesDescriptor]),
];

/** A file that is gone already, for programs that are waited for: its descriptor. To be closed. */
export function descriptorOf(bytes: Buffer): number {
  const directory = mkdtempSync(join(tmpdir(), "heddle-"));
  try {
    const path = join(directory, "rules");
    writeFileSync(path, bytes);
    return openSync(path, "r");
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
