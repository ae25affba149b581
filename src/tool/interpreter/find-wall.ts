// Which wall there is to be had here. Tried once, with Node itself inside of it: what works on one machine is forbidden on another.
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, realpathSync } from "node:fs";
import { HeddleError } from "../../thread/errors.js";
import { findProgram } from "../command/find-program.js";
import { oneLine } from "../words.js";
import { noProcesses } from "./seccomp.js";
import { type BubblewrapWall, bubblewrapWall, descriptorOf, noWall, type Wall, wallArgs } from "./wall.js";

export interface WallWish {
  /** `auto`: bubblewrap where it works. `bubblewrap`: that or nothing. */
  readonly sandbox: "auto" | "bubblewrap" | "none";
  readonly workspace: string | undefined;
  /** Where programs are looked for. Undefined: where the server's own are. */
  readonly path?: string;
}

const trialMs = 20_000;
const found = new Map<string, Wall | { readonly why: string }>();

/** Throws `invalid_config` when bubblewrap is wished for and does not work. What was tried once is not tried again. */
export function findWall({ sandbox, workspace, path = process.env["PATH"] ?? "/usr/bin:/bin" }: WallWish): Wall {
  if (sandbox === "none") return noWall("agent.commands.sandbox is none");
  const key = JSON.stringify([workspace, path]);
  const known = found.get(key) ?? tryBubblewrap(path, workspace);
  found.set(key, known);
  if ("hold" in known) return known;
  if (sandbox === "auto") return noWall(known.why);
  throw new HeddleError(
    "invalid_config",
    `agent.commands.sandbox: ${known.why}; install it and allow user namespaces, or set it to auto or none`,
    { detail: { field: "agent.commands.sandbox" } },
  );
}

function tryBubblewrap(path: string, workspace: string | undefined): Wall | { readonly why: string } {
  const program = findProgram("bwrap", path, workspace);
  if (program === undefined) return { why: "bubblewrap is not installed" };
  let why = "";
  for (const form of forms()) {
    const trial = attempt(program, form);
    if (trial.isDone) return bubblewrapWall({ program, ...form });
    why = trial.why;
  }
  return { why: `bubblewrap cannot hold Node here${why === "" ? "" : ` (${why})`}` };
}

/** From the strictest on. Every one of them has no network and nothing that can be written. */
function* forms(): Generator<Omit<BubblewrapWall, "program">> {
  const rules = noProcesses();
  for (const system of [nodeFiles(), systemDirectories()])
    for (const form of rules === undefined ? [undefined] : [rules, undefined])
      for (const canDisableUserns of [true, false]) yield { system, rules: form, canDisableUserns };
}

/** The program, and the libraries that it has loaded; not those of packages. */
function nodeFiles(): string[] {
  const { sharedObjects } = process.report.getReport() as unknown as { sharedObjects: string[] };
  const libraries = sharedObjects.filter((file) => file.startsWith("/") && !file.endsWith(".node") && existsSync(file));
  return [...new Set([realpathSync(process.execPath), ...libraries])];
}

/** Where Node finds its libraries in another way: everything that the system has. */
const systemDirectories = (): string[] =>
  [realpathSync(process.execPath), "/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/nix/store"].filter(existsSync);

function attempt(program: string, form: Omit<BubblewrapWall, "program">): { isDone: boolean; why: string } {
  const rules = form.rules && descriptorOf(form.rules);
  try {
    const args = [...wallArgs(form, []), "--", realpathSync(process.execPath), "--version"];
    const { status, stderr } = spawnSync(program, args, {
      env: {},
      timeout: trialMs,
      encoding: "utf8",
      stdio: ["ignore", "ignore", "pipe", rules ?? "ignore"],
    });
    return { isDone: status === 0, why: oneLine(stderr ?? "").replace(/^bwrap: /, "") };
  } finally {
    if (rules !== undefined) closeSync(rules);
  }
}
