// Calls that policy wants a person's yes for: they wait, and their run with them.
import { recover } from "../../../src/recorder/recover.js";
import { ApprovalDecision, ApprovalMode } from "../../../src/thread/schema.js";
import { valuesOf } from "../../support/agent.js";
import { storedEvents } from "../../support/core.js";
import { calls, says, writeFile } from "../agents.js";
import { type Cast, type Group, open, type Played, run, runUntil, toTheEnd } from "../scenario.js";
import { passes } from "../stage.js";

const writing: Cast = {
  text: "Write the greeting",
  replies: [calls({ name: "write_file", input: { path: "hello.txt", text: "Hello" } }), says("That is that.")],
  tools: [
    {
      ...writeFile,
      preview: async () => ({ mediaType: "text/x-diff", data: "--- /dev/null\n+++ b/hello.txt\n+Hello\n" }),
    },
  ],
  policy: { trusted: false },
};

type Decision = ApprovalDecision.ALLOWED | ApprovalDecision.DENIED;

async function answer({ core, threadId }: Played, decision: Decision, reason = ""): Promise<void> {
  const [question] = valuesOf(await storedEvents(core, threadId), "toolCallApprovalRequested");
  const { toolCallId, approvalSha256: sha256 } = question!;
  await core.toolCalls.answer(toolCallId, { decision, reason, resolvedBy: "ada", sha256 });
}

export const asked: Group = {
  title: "Calls that need a yes",
  scenarios: [
    {
      name: "approval-allowed",
      title: "Somebody says yes",
      sentence: "The run is suspended while it waits. The call starts once, and only after the yes is stored.",
      play: async (stage) => {
        const waiting = await runUntil(stage, writing, "runSuspended");
        await passes(12_000);
        await answer(waiting, ApprovalDecision.ALLOWED);
        return toTheEnd(waiting);
      },
    },
    {
      name: "approval-denied",
      title: "Somebody says no",
      sentence: "The call never starts. The model reads the reason, and goes on.",
      play: async (stage) => {
        const waiting = await runUntil(stage, writing, "runSuspended");
        await passes(4_000);
        await answer(waiting, ApprovalDecision.DENIED, "use the name of the file that is there");
        return toTheEnd(waiting);
      },
    },
    {
      name: "approval-expired",
      title: "Nobody answers",
      sentence: "A question has an end of its own: the call is denied, and the run goes on.",
      play: async (stage) => {
        const policy = { trusted: false, approvalTimeoutMs: 600_000 };
        const waiting = await runUntil(stage, { ...writing, policy }, "runSuspended");
        await passes(600_001);
        return toTheEnd(waiting);
      },
    },
    {
      name: "approval-nobody",
      title: "Nobody is there to answer",
      sentence: "Where that is known beforehand, the call is denied at once.",
      play: run({ ...writing, options: { approvalMode: ApprovalMode.DENY } }),
    },
    {
      name: "approval-restart",
      title: "The server dies while a call waits",
      sentence: "The question outlives it: the next server takes the answer, and the run goes on from the log.",
      play: async (stage) => {
        const { threadId } = await runUntil(stage, writing, "runSuspended");
        await passes(2_000);
        stage.kill();
        const core = open(stage, { ...writing, replies: writing.replies.slice(1) });
        await recover(stage.log, core.recordings);
        await passes(3_000);
        await answer({ core, threadId }, ApprovalDecision.ALLOWED);
        return toTheEnd({ core, threadId });
      },
    },
  ],
};
