// What commands in a sandbox cannot even read: where keys lie, and the sockets of services that would do for a command what the
// sandbox keeps it from.
import { lstat } from "node:fs/promises";
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

/** Arguments of bubblewrap that hide them, where they are. `further`: absolute paths of the server's own. */
export async function hidingArgs(home: string | undefined, further: readonly string[]): Promise<string[]> {
  const below = home !== undefined && isAbsolute(home) ? ofHome.map((name) => join(home, name)) : [];
  const args = await Promise.all([...below, ...ofSystem, ...further].map(hide));
  return args.flat();
}

async function hide(path: string): Promise<string[]> {
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return [];
  // An empty directory, or a file that cannot be opened. What a link leads to is hidden by its own name, if at all.
  if (found.isDirectory()) return ["--size", "4096", "--tmpfs", path, "--remount-ro", path];
  return found.isFile() ? ["--ro-bind", "/dev/null", path] : [];
}
