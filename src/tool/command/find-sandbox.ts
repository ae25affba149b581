// Which isolation commands get. Tried once, at the start: that bubblewrap is installed does not mean that it works, for many
// containers forbid what it needs.
import { spawnSync } from "node:child_process";
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
const found = new Map<string, Sandbox | string>();

/** Throws `invalid_config` when bubblewrap is wished for and does not work. What was tried once is not tried again. */
export function findSandbox(wish: SandboxWish): Sandbox {
  if (wish.sandbox === "none") return noSandbox("agent.commands.sandbox is none");
  const key = JSON.stringify({ ...wish, sandbox: "" });
  const known = found.get(key) ?? tryBubblewrap(wish);
  found.set(key, known);
  if (typeof known !== "string") return known;
  if (wish.sandbox === "auto") return noSandbox(known);
  throw new HeddleError(
    "invalid_config",
    `agent.commands.sandbox: ${known}; install it and allow user namespaces, or set it to auto or none`,
    { detail: { field: "agent.commands.sandbox" } },
  );
}

/** The sandbox, or why there is none. */
function tryBubblewrap({ network, hidden, path, workspace }: SandboxWish): Sandbox | string {
  const program = findProgram("bwrap", path, workspace);
  if (program === undefined) return "bubblewrap is not installed";
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
  return `bubblewrap does not work here${why === "" ? "" : ` (${why})`}`;
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
