// The project's own command, as a script would use it.
import { join } from "node:path";
import type { Frame, StreamClient } from "./client.js";
import { linesOf } from "./command.js";

const main = join(import.meta.dirname, "../../../dist/src/cli/main.js");

/** Tells its failures in words and exit codes: the suites of errors leave it out. */
export const heddleFollowClient: StreamClient = {
  name: "heddle follow --json",
  isHere: true,
  isCommand: true,
  servedBy: "lane",
  trustsCertificates: true,
  async *frames({ url, token, ca }, { threadId, afterSequence = 0n, follow = false }, { signal }) {
    const args = [main, "follow", threadId, "--json", "--control", "--server", url, "--after", String(afterSequence)];
    if (!follow) args.push("--no-follow");
    if (token) args.push("--token", token);
    const env = ca ? { NODE_EXTRA_CA_CERTS: ca.path } : {};
    const lines = linesOf({ file: process.execPath, args, env, signal, leave: "SIGTERM" });
    for (;;) {
      const next = await lines.next();
      if (!next.done) yield JSON.parse(next.value) as Frame;
      else if (next.value.code === 0 || signal.aborted) return;
      else throw new Error(`heddle follow ended with ${next.value.code}: ${next.value.stderr}`);
    }
  },
};
