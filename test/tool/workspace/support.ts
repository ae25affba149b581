// A workspace with every sort of trap in it, and beside it what nobody may see or change.
import { execFileSync } from "node:child_process";
import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What is written in every file outside. */
export const canary = "CANARY: nobody may read this";

export interface Ground {
  /** Holds `root`, the workspace, and `outside`. */
  readonly base: string;
  readonly root: string;
  readonly outside: string;
  /** Everything outside as it is now: names, types, modes, contents. */
  outsideNow(): string[];
  remove(): void;
}

export function makeGround(): Ground {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "heddle-jail-")));
  const root = join(base, "root");
  const outside = join(base, "outside");
  mkdirSync(join(root, "src/deep"), { recursive: true });
  mkdirSync(join(outside, "deep"), { recursive: true });
  mkdirSync(join(base, "root-beside"));
  for (const path of ["outside/secret", "outside/deep/secret", "root-beside/secret"])
    writeFileSync(join(base, path), canary);
  writeFileSync(join(root, "file"), "inside");
  writeFileSync(join(root, "src/file"), "inside");
  writeFileSync(join(root, "src/deep/file"), "inside");
  const outsideNow = () =>
    ["outside", "root-beside"].flatMap((name) => tree(join(base, name))).concat(readdirSync(base).sort());
  return { base, root, outside, outsideNow, remove: () => rmSync(base, { recursive: true, force: true }) };
}

function tree(path: string): string[] {
  const stats = lstatSync(path);
  const line = `${path} ${stats.mode.toString(8)} ${stats.nlink}`;
  if (!stats.isDirectory()) return [`${line} ${readFileSync(path, "utf8")}`];
  return [
    line,
    ...readdirSync(path)
      .sort()
      .flatMap((name) => tree(join(path, name))),
  ];
}

/** Links of every sort, a pipe, and a hard link to a file outside. */
export function setTraps({ root, outside, base }: Ground): void {
  const links: Record<string, string> = {
    "out-relative": "../outside/secret",
    "out-absolute": join(outside, "secret"),
    "out-directory": "../outside",
    "src/out-deeper": "../../outside/deep",
    "out-by-root": "../root/../outside/secret",
    "out-beside": "../root-beside/secret",
    "out-absolute-dots": join(root, "../outside/secret"),
    "out-absolute-dots-raw": `${root}/../outside/secret`,
    "out-absolute-dots-deep": `${root}/src/../../outside/secret`,
    "out-dangling": "../outside/new",
    "out-and-in": "../root/file",
    "chain-1": "chain-2",
    "chain-2": "src/chain-3",
    "src/chain-3": "../chain-4",
    "chain-4": "out-relative",
    "in-relative": "src/file",
    "in-directory": "src",
    "in-absolute": join(root, "src/file"),
    "in-absolute-dots": `${root}/src/../src/./deep//file`,
    "in-up": "src/deep/../file",
    "src/in-up-link": "../in-directory/deep/../file",
    "in-dangling": "src/new",
    "in-parent": ".",
    self: "self",
    "round-1": "round-2",
    "round-2": "round-1",
    "to-root": "/",
    "to-etc": "/etc/passwd",
    "to-proc": "/proc/self/environ",
    "to-proc-root": "/proc/self/root",
    "to-proc-cwd": "/proc/self/cwd",
    "to-fd": "/proc/self/fd/0",
    "to-null": "/dev/null",
    "to-zero": "/dev/zero",
    "to-stdin": "/dev/stdin",
    "to-home": "~",
    "to-git": ".git/config",
    long: `${"x/".repeat(2_000)}y`,
    "empty-steps": ".//./src/.//file",
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name));
  for (let index = 0; index < 45; index++)
    symlinkSync(index === 44 ? "file" : `many-${index + 1}`, join(root, `many-${index}`));
  mkdirSync(join(root, ".git/hooks"), { recursive: true });
  writeFileSync(join(root, ".git/config"), "[core]");
  linkSync(join(outside, "secret"), join(root, "hard"));
  linkSync(join(base, "root-beside/secret"), join(root, "src/hard"));
  execFileSync("mkfifo", [join(root, "pipe")]);
  symlinkSync("pipe", join(root, "to-pipe"));
}

/** A socket in the workspace. */
export const listenAt = (path: string): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer().on("error", reject);
    server.listen(path, () => resolve(server));
  });
