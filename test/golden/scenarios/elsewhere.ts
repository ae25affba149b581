// Calls that run elsewhere: at a client near the user, and on an MCP server.
import { createHash } from "node:crypto";
import { OutputStream, ToolCallOutcome, ToolKind } from "../../../src/thread/schema.js";
import { ToolFailure } from "../../../src/tool/tool.js";
import type { ToolOffer, ToolServer } from "../../../src/tool/tool-server.js";
import { called, isCase, replies, said, send, tool, until } from "../../support/agent.js";
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

/** A server of tools that answers as the test says. */
class TestServer implements ToolServer {
  readonly label: string;
  readonly #answer: () => Promise<ToolOffer>;
  offer: ToolOffer | undefined;

  constructor(label: string, answer: () => Promise<ToolOffer>) {
    this.label = label;
    this.#answer = answer;
  }

  async discover(): Promise<ToolOffer> {
    this.offer = await this.#answer();
    return this.offer;
  }
}

const weather = new TestServer("weather", async () => {
  await passes(120);
  const forecast = tool(
    "mcp__weather__forecast",
    async (_, { progress }) => {
      progress(1, 2, "Asking the stations");
      await passes(800);
      progress(2, 2, "Drawing the map");
      return { summary: "Rain from four o'clock", result: { rain: true } };
    },
    {
      title: "Forecast",
      describe: () => "Forecast: Ulm",
      origin: { kind: "mcp", serverLabel: "weather", toolName: "forecast" },
    },
  );
  return { tools: [forecast], json: '[{"name":"forecast"}]', sha256: createHash("sha256").update("list").digest() };
});

const down = new TestServer("tickets", async () => {
  throw new ToolFailure("Nothing answers at https://tickets.example/mcp");
});

const fragile = new TestServer("weather", async () => {
  const forecast = tool(
    "mcp__weather__forecast",
    async () => {
      await passes(300);
      throw new ToolFailure("The connection to weather was lost: whether it had an effect is not known", {
        kind: "connection_lost",
        ending: "interrupted",
      });
    },
    {
      title: "Forecast",
      describe: () => "Forecast: Ulm",
      origin: { kind: "mcp", serverLabel: "weather", toolName: "forecast" },
    },
  );
  return { tools: [forecast], json: '[{"name":"forecast"}]', sha256: createHash("sha256").update("list").digest() };
});

const withServers =
  (...servers: readonly TestServer[]) =>
  async (stage: Stage): Promise<Played> => {
    for (const server of servers) server.offer = undefined;
    const model = replies(
      called({ name: "mcp__weather__forecast", input: { town: "Ulm" } }),
      said("Take an umbrella."),
    );
    const core = stage.open({
      model,
      limits: { firstBackoffMs: 500 },
      defaults: { model: "test:model" },
      servers: { forThread: () => servers },
    });
    const { threadId } = await send(core, { text: "Do I need an umbrella?" });
    return toTheEnd({ core, threadId });
  };

export const elsewhere: Group = {
  title: "Calls that run elsewhere",
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
    {
      name: "mcp-tool",
      title: "An MCP server runs the call",
      sentence:
        "Before the first reply the server is asked what it offers; the list is a record. The call then looks like any other, but for its source and its executor.",
      play: withServers(weather),
    },
    {
      name: "mcp-down",
      title: "An MCP server is down",
      sentence: "It costs its own tools, and nothing else.",
      play: withServers(weather, down),
    },
    {
      name: "mcp-lost",
      title: "The connection to an MCP server is lost",
      sentence: "Nobody knows what became of the call: it is interrupted, and never made again by itself.",
      play: withServers(fragile),
    },
  ],
};
