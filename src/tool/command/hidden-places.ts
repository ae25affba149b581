// What commands in a sandbox cannot even read: where keys lie, and the sockets of services that would do for a command what the
// sandbox keeps it from.
import { lstat, realpath } from "node:fs/promises";
import { isAbsolute, join } from "node:path";

/** Below the home directory. */
const ofHome = [
  ".ssh",
  ".gnupg",
  ".aws",
  ".azure",
  ".config/gcloud",
  ".config/gh",
  ".config/git/credentials",
  ".config/op",
  ".config/containers",
  ".kube",
  ".docker",
  ".netrc",
  ".npmrc",
  ".yarnrc.yml",
  ".pypirc",
  ".git-credentials",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".gem/credentials",
  ".terraform.d",
  ".vault-token",
  ".pgpass",
  ".my.cnf",
  ".password-store",
  ".local/share/keyrings",
  ".bash_history",
  ".zsh_history",
  ".mozilla",
  ".config/google-chrome",
  ".config/chromium",
];

/** Of the system. A server that runs as root could read them. */
const ofSystem = ["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d"];

export interface Hiding {
  /** Arguments of bubblewrap for places that the workspace is inside of: to be followed by the workspace itself. */
  readonly around: readonly string[];
  /** For all others: to follow the workspace, for they may lie in it. */
  readonly within: readonly string[];
}

/** `further`: absolute paths of the server's own. What is not there is not hidden. */
export async function hidePlaces(
  workspace: string,
  home: string | undefined,
  further: readonly string[],
): Promise<Hiding> {
  const below = home !== undefined && isAbsolute(home) ? ofHome.map((name) => join(home, name)) : [];
  const places = await Promise.all(
    [...below, ...ofSystem, ...further].map((path) => realpath(path).catch(() => undefined)),
  );
  const real = [...new Set(places.filter((path) => path !== undefined))];
  const around = real.filter((path) => workspace === path || workspace.startsWith(`${path}/`));
  const within = await Promise.all(real.filter((path) => !around.includes(path)).map(hide));
  return { around: around.flatMap((path) => [...small, "--tmpfs", path]), within: within.flat() };
}

const small = ["--size", "4096"] as const;

/** An empty directory, or a file that cannot be opened. */
async function hide(path: string): Promise<string[]> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isDirectory()) return [...small, "--tmpfs", path, "--remount-ro", path];
  return found === undefined ? [] : ["--ro-bind", "/dev/null", path];
}
