// Which isolation commands get. Tried once, at the start: that bubblewrap is installed does not mean that it works, for many
// containers forbid what it needs.
import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { HeddleError } from "../../thread/errors.js";
import { oneLine } from "../words.js";
import { type BubblewrapOptions, bubblewrap, supported, systemArgs } from "./bubblewrap.js";
import { findProgram } from "./find-program.js";
import { noSandbox, type Sandbox } from "./sandbox.js";

export interface SandboxWish {
  /** `auto`: bubblewrap where it works. `bubblewrap`: that or nothing. */
  readonly sandbox: "auto" | "bubblewrap" | "none";
  readonly network: boolean;
  /** Paths of the server that commands must not see. */
  readonly hidden: readonly string[];
  /** Where programs are looked for. */
  readonly path: string;
  readonly workspace: string | undefined;
}

const trialMs = 10_000;
const found = new Map<string, Sandbox | Missing>();

/** Why there is no sandbox, and what to do about it. */
interface Missing {
  readonly why: string;
  readonly remedy: string;
}

/** Throws `invalid_config` when bubblewrap is wished for and does not work. What was tried once is not tried again. */
export function findSandbox(wish: SandboxWish): Sandbox {
  if (wish.sandbox === "none") return noSandbox("agent.commands.sandbox is none");
  const key = JSON.stringify({ ...wish, sandbox: "" });
  const known = found.get(key) ?? tryBubblewrap(wish);
  found.set(key, known);
  if (!("why" in known)) return known;
  if (wish.sandbox === "auto") return noSandbox(known.why);
  throw new HeddleError(
    "invalid_config",
    `agent.commands.sandbox: ${known.why}; ${known.remedy}, or set it to auto or none`,
    { detail: { field: "agent.commands.sandbox" } },
  );
}

const install = "install it and allow user namespaces";

function tryBubblewrap({ network, hidden, path, workspace }: SandboxWish): Sandbox | Missing {
  if (workspace !== undefined && isWholeFileSystem(workspace))
    return {
      why: "bubblewrap cannot hold in a workspace that is the whole file system",
      remedy: "work in a directory",
    };
  const program = findProgram("bwrap", path, workspace);
  if (program === undefined) return { why: "bubblewrap is not installed", remedy: install };
  const known = attempt(program, ["--help"], path);
  const options: BubblewrapOptions = {
    program,
    network,
    hidden,
    canSize: known.stdout.includes("--size"),
    canDisableUserns: known.stdout.includes("--disable-userns"),
  };
  // Some kernels refuse only the stricter form.
  const forms = options.canDisableUserns ? [options, { ...options, canDisableUserns: false }] : [options];
  let why = known.why;
  for (const form of forms) {
    const trial = attempt(program, [...supported(systemArgs(form), form), "--", "/bin/sh", "-c", ":"], path);
    if (trial.isDone) return bubblewrap(form);
    why = trial.why;
  }
  return { why: `bubblewrap does not work here${why === "" ? "" : ` (${why})`}`, remedy: install };
}

/** Also by a link. One that cannot be reached is found out about by whoever works in it. */
function isWholeFileSystem(workspace: string): boolean {
  try {
    return realpathSync(workspace) === "/";
  } catch {
    return false;
  }
}

function attempt(program: string, args: string[], path: string): { isDone: boolean; stdout: string; why: string } {
  const { status, stdout, stderr } = spawnSync(program, args, {
    env: { PATH: path },
    timeout: trialMs,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  return { isDone: status === 0, stdout: stdout ?? "", why: oneLine(stderr ?? "").replace(/^bwrap: /, "") };
}
