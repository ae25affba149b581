// Calls that a client near the user runs.
import { OutputStream, ToolCallOutcome, ToolKind } from "../../../src/thread/schema.js";
import { called, isCase, replies, said, send, until } from "../../support/agent.js";
import { declared } from "../../support/client-tools.js";
import { type Group, type Played, toTheEnd } from "../scenario.js";
import { passes, type Stage } from "../stage.js";

const takePhoto = declared("take_photo", {
  title: "Take a photo",
  kind: ToolKind.READ,
  summaryTemplate: "Taking a photo of {what}",
});

const photo = called({ name: "take_photo", input: { what: "the door" } });
const noPhoto = "I could not get a photo.";
const token = "a-token-of-the-client-s-own";

/** A run whose call waits for a client. */
async function offered(
  stage: Stage,
  { limits = {}, answer = "The door is closed." } = {},
): Promise<Played & { toolCallId: string; claim: () => Promise<unknown> }> {
  const model = replies(photo, said(answer));
  const core = stage.open({ model, limits: { firstBackoffMs: 500, ...limits }, defaults: { model: "test:model" } });
  const { id } = await core.threads.create({ threadId: "", title: "", labels: {}, clientTools: [takePhoto] });
  const { threadId } = await send(core, { threadId: id, text: "Is the door closed?" });
  const events = await until(core, threadId, isCase("runSuspended"));
  const created = events.find(isCase("toolCallCreated"))?.payload;
  const toolCallId = created?.case === "toolCallCreated" ? created.value.toolCallId : "";
  const claim = () =>
    core.executorCalls.claim({ toolCallId, executorName: "Ada's phone", claimToken: token, leaseMs: 10_000 });
  return { core, threadId, toolCallId, claim };
}

export const atClients: Group = {
  title: "Calls that clients run",
  scenarios: [
    {
      name: "client-tool",
      title: "A client runs the call",
      sentence:
        "Started says that the call waits for a client, and its run is suspended meanwhile. Whoever claims it fetches the input with GetToolCall, reports what it prints and how far it is, and ends the call; then the run goes on.",
      play: async (stage) => {
        const { core, threadId, toolCallId, claim } = await offered(stage);
        await passes(1_500);
        await claim();
        await core.executorCalls.report(toolCallId, token, {
          outputs: [{ stream: OutputStream.STDOUT, text: "focusing\n" }],
          progress: { message: "Holding still", completed: 1, total: 2 },
          reportSequence: 1n,
        });
        await passes(700);
        await core.executorCalls.complete(toolCallId, token, {
          complete: { toolCallId, outcome: ToolCallOutcome.SUCCEEDED, summary: "Took a photo of the door" },
          result: Buffer.from('{"closed":true}'),
        });
        return toTheEnd({ core, threadId });
      },
    },
    {
      name: "client-lost",
      title: "The client falls silent",
      sentence:
        "A claim is a lease. When the client is not heard of for so long, the call is over; it is not offered to anybody else, for the first one may have done it.",
      play: async (stage) => {
        const { core, threadId, claim } = await offered(stage, { answer: noPhoto });
        await claim();
        return toTheEnd({ core, threadId });
      },
    },
    {
      name: "client-nobody",
      title: "No client comes",
      sentence: "A call that nobody claims waits until its deadline.",
      play: async (stage) => toTheEnd(await offered(stage, { limits: { claimTimeoutMs: 60_000 }, answer: noPhoto })),
    },
  ],
};
