// Starts a program with nothing open but its own streams. Node lets no file that it opens into a child, but not everything is
// opened by Node: LMDB leaves its data open for children on purpose, and whoever started the server may have left something too.
// With such a descriptor a command could read and change every thread, whatever sandbox it is in.
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";

export interface AloneOptions extends Pick<SpawnOptions, "cwd" | "env" | "detached"> {
  /** The three of every program, and what else it is to have. */
  readonly stdio: readonly ["ignore" | "pipe", "ignore" | "pipe", "ignore" | "pipe", ...("ignore" | "pipe")[]];
}

/** As `spawn`. Throws as it does, too. */
export async function spawnAlone(
  program: string,
  args: readonly string[],
  options: AloneOptions,
): Promise<ChildProcess> {
  const inherited = await inheritedDescriptors();
  if (inherited.length === 0) return spawn(program, args, { ...options, stdio: [...options.stdio] });
  const nothing = openSync("/dev/null", "r+");
  try {
    const stdio: (number | "ignore" | "pipe")[] = [...options.stdio];
    for (let descriptor = stdio.length; descriptor <= Math.max(...inherited); descriptor++)
      stdio.push(inherited.includes(descriptor) ? nothing : "ignore");
    return spawn(program, args, { ...options, stdio });
  } finally {
    closeSync(nothing);
  }
}

/**
 * How long what was found is believed. Looking takes a while where there are thousands of connections, and such files are opened
 * when the server starts.
 */
const believedMs = 5_000;
const readAtOnce = 32;

let found: { readonly at: number; readonly descriptors: Promise<readonly number[]> } | undefined;

/** Those beyond the first three that a child would be given. None where there is no /proc. */
function inheritedDescriptors(): Promise<readonly number[]> {
  if (found === undefined || performance.now() - found.at > believedMs)
    found = { at: performance.now(), descriptors: look() };
  return found.descriptors;
}

async function look(): Promise<readonly number[]> {
  const names = await readdir("/proc/self/fd").catch(() => []);
  const open = names.map(Number).filter((descriptor) => descriptor > 2);
  const inherited: number[] = [];
  for (let from = 0; from < open.length; from += readAtOnce) {
    const some = open.slice(from, from + readAtOnce);
    const flags = await Promise.all(some.map(isInherited));
    inherited.push(...some.filter((_, index) => flags[index]));
  }
  return inherited;
}

/** The bit of O_CLOEXEC among a descriptor's flags. */
const closedOnExec = 0o2000000;

/** One that was closed meanwhile is not. */
async function isInherited(descriptor: number): Promise<boolean> {
  const info = await readFile(`/proc/self/fdinfo/${descriptor}`, "latin1").catch(() => "");
  const [, flags] = /^flags:\s*([0-7]+)$/m.exec(info) ?? [];
  return flags !== undefined && (Number.parseInt(flags, 8) & closedOnExec) === 0;
}
