// Which isolation commands get. Tried once, at the start: that bubblewrap is installed does not mean that it works, for many
// containers forbid what it needs.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
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

const run = promisify(execFile);
const trialMs = 10_000;

/** Rejects with `invalid_config` when bubblewrap is wished for and does not work. */
export async function findSandbox(wish: SandboxWish): Promise<Sandbox> {
  if (wish.sandbox === "none") return noSandbox("agent.commands.sandbox is none");
  const found = await tryBubblewrap(wish);
  if (typeof found !== "string") return bubblewrap(found);
  if (wish.sandbox === "auto") return noSandbox(found);
  throw new HeddleError(
    "invalid_config",
    `agent.commands.sandbox: ${found}; install it and allow user namespaces, or set it to auto or none`,
    { detail: { field: "agent.commands.sandbox" } },
  );
}

/** What it can do here, or why it cannot. */
async function tryBubblewrap({ network, hidden, path, workspace }: SandboxWish): Promise<BubblewrapOptions | string> {
  const program = findProgram("bwrap", path, workspace);
  if (program === undefined) return "bubblewrap is not installed";
  const known = await attempt(program, ["--help"], path);
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
    const trial = await attempt(program, [...supported(systemArgs(form), form), "--", "/bin/sh", "-c", ":"], path);
    if (trial.isDone) return form;
    why = trial.why;
  }
  return `bubblewrap does not work here${why === "" ? "" : ` (${why})`}`;
}

async function attempt(
  program: string,
  args: readonly string[],
  path: string,
): Promise<{ isDone: boolean; stdout: string; why: string }> {
  try {
    const { stdout } = await run(program, args, { env: { PATH: path }, timeout: trialMs });
    return { isDone: true, stdout, why: "" };
  } catch (reason) {
    const { stderr = "" } = reason as { stderr?: string };
    return { isDone: false, stdout: "", why: oneLine(stderr).replace(/^bwrap: /, "") };
  }
}
