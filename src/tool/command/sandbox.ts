// What holds commands in. A sandbox turns a command into one that runs inside it, and says honestly, in one line, what that
// keeps it from.

export interface SandboxedCommand {
  readonly argv: readonly [program: string, ...args: string[]];
  /** Absolute, without symbolic links. */
  readonly workspace: string;
  /** Where it runs: the workspace, unless said. */
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string>>;
  /** Whether it may change the workspace. */
  readonly access: "read" | "write";
}

/** A command as it is started. */
export interface HeldCommand {
  readonly argv: readonly [program: string, ...args: string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly isSandbox: boolean;
  /** Takes away what was put into the workspace to hold it in. To be called when it is over. */
  release(): Promise<void>;
}

export interface Sandbox {
  /** What is in force: one line. */
  readonly isolation: string;
  /** Whether it holds anything in: everything that runs in it then ends with it. */
  readonly isSandbox: boolean;
  /** Contract: rejects with a ToolFailure, and starts nothing, when the command cannot be held in. */
  hold(command: SandboxedCommand): Promise<HeldCommand>;
}

/** None. Commands have the server's own rights. `why`: what keeps them from being held in. */
export function noSandbox(why: string): Sandbox {
  return {
    isolation: `none: ${why}; commands run with the server's own rights`,
    isSandbox: false,
    hold: async ({ argv, workspace, cwd = workspace, env }) => ({
      argv,
      cwd,
      env,
      isSandbox: false,
      release: async () => {},
    }),
  };
}
