// The command as a process of its own, for tests that run the built one.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** What a child prints, as it comes, and when it is over. Contract: called before it has printed anything. */
export function collected<Child extends ChildProcess>(child: Child) {
  const run = { child, stdout: "", stderr: "", ended: once(child, "close") };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    run.stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    run.stderr += text;
  });
  return run;
}

/** Ends those that still run, and forgets all of them. */
export async function endChildren(children: ChildProcess[]): Promise<void> {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
}
