// A reply that a run goes on with from the log: what is over stays over, what waits goes on waiting, what was approved is run.
import type { RunDocument } from "../thread/schema.js";
import { checkInput } from "../tool/check-input.js";
import type { UnfinishedCall, UnfinishedTurn } from "./conversation.js";
import type { Reply } from "./record-reply.js";
import type { Run } from "./run.js";
import { type CallInput, describe, type Standing } from "./streamed-call.js";

export const unfinishedReply = (run: Run, { text, calls }: UnfinishedTurn, document: RunDocument): Reply => ({
  text,
  calls: calls.map((call) => callInput(run, call, document)),
  end: { type: "end", reason: "tool_calls", providerReason: "tool_calls" },
});

function callInput(run: Run, call: UnfinishedCall, document: RunDocument): CallInput {
  const tool = run.toolbox.calledAs(call.name, call.calledAs);
  const checked = tool && checkInput(tool, call.input);
  const summary = tool && checked?.ok ? describe(tool, checked.input) : "";
  const standing = standingOf(call, document);
  return { id: call.id, toolName: call.name, text: call.input, tool, checked, summary, ...(standing && { standing }) };
}

/** Which call has ended the run is not recorded, only that one has: any that is over may stand for it. */
function standingOf({ over, asked, isStarted }: UnfinishedCall, { stoppedByTool }: RunDocument): Standing | undefined {
  if (over) return { kind: "over", result: { ...over, stopIteration: stoppedByTool } };
  // What was started here was interrupted, and is over: only what waits for a client is started and open.
  if (isStarted) return { kind: "handed_over" };
  if (!asked) return undefined;
  const { sha256, expiresMs, isAllowed } = asked;
  return isAllowed ? { kind: "approved", sha256, expiresMs } : { kind: "waiting", sha256 };
}
