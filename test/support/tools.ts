// Programs from outside that some suites need. A suite whose tool is missing is skipped by name; where everything is
// supposed to be there (CI=true) that is a failure, so that a green run means that every test ran.
import { spawnSync } from "node:child_process";

/** The system's own Python: the one that Debian's python3-grpcio belongs to. */
export const python = "/usr/bin/python3";

/** True when the command `probe` succeeds. Under CI=true a missing tool throws. */
export function requireTool(name: string, probe: readonly [command: string, ...args: string[]]): boolean {
  const [command, ...args] = probe;
  if (spawnSync(command, args, { stdio: "ignore" }).status === 0) return true;
  if (process.env["CI"] === "true") throw new Error(`${name} is missing: run \`npm run setup\``);
  return false;
}

export const hasPythonGrpc = (): boolean =>
  requireTool("python3-grpcio", [python, "-c", "import grpc, google.protobuf"]);

export const hasOpenssl = (): boolean => requireTool("openssl", ["openssl", "version"]);
