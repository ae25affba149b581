// The file that the settings come from may hold tokens: commands in a sandbox cannot read it, wherever it is.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { compose } from "../../src/compose.js";
import { loadConfig } from "../../src/config.js";
import { Session } from "../fixtures/engine/session.js";
import { valuesOf } from "../support/agent.js";
import { hasBubblewrap, workplace } from "../tool/command/support.js";

const silent = { debug() {}, info() {}, warn() {}, error() {} };

test.skipIf(!hasBubblewrap())("the configuration is hidden from commands (needs bubblewrap)", async () => {
  await using place = await workplace();
  const [script, file] = [join(place.path, "script.json"), join(place.path, "heddle.json")];
  const command = "cat script.json | wc -l; cat heddle.json | wc -c; echo over";
  const replies = [
    { events: [{ toolCall: { name: "run_command", input: { command } } }] },
    { events: [{ text: "Done." }] },
  ];
  await writeFile(script, `${JSON.stringify({ replies })}\n`);
  const commands = { sandbox: "bubblewrap" };
  const agent = { model: `scripted:${script}`, workspace: place.path, trusted: true, commands };
  await writeFile(file, JSON.stringify({ listen: "127.0.0.1:0", data: join(place.path, ".heddle"), agent }));
  const heddle = await compose(loadConfig({ flags: { config: file }, env: {} }), silent);
  const session = new Session(heddle.url);
  try {
    const { threadId } = await session.start("Look at the settings");
    const events = await session.until(threadId, "runCompleted");
    const said = valuesOf(events, "toolCallOutputDelta").map(({ text }) => text);
    expect(said.join("")).toContain("Permission denied");
    expect(said.join("").replace(/^cat: .*\n/m, "")).toBe("1\n0\nover\n");
  } finally {
    await session.close();
    await heddle.close();
  }
});

test("a token of the configuration is blanked out where a tool comes upon it", async () => {
  await using place = await workplace();
  const [script, file] = [join(place.path, "script.json"), join(place.path, "heddle.json")];
  const replies = [
    { events: [{ toolCall: { name: "read_file", input: { path: "heddle.json" } } }] },
    { events: [{ text: "Done." }] },
  ];
  await writeFile(script, JSON.stringify({ replies }));
  const agent = { model: `scripted:${script}`, workspace: place.path };
  const token = "a-token-of-the-operator";
  const tokens = [{ name: "me", token }];
  await writeFile(file, JSON.stringify({ listen: "127.0.0.1:0", data: join(place.path, ".heddle"), tokens, agent }));
  const heddle = await compose(loadConfig({ flags: { config: file }, env: {} }), silent);
  const session = new Session(heddle.url, { token });
  try {
    const { threadId } = await session.start("Look at the settings");
    const events = await session.until(threadId, "runCompleted");
    const [call] = valuesOf(events, "toolCallComplete");
    const { contents } = await session.clients.toolCalls.getToolCall({ toolCallId: call!.toolCallId });
    const texts = contents.map(({ data }) => Buffer.from(data).toString()).join("\n");
    expect(texts).toContain("[redacted]");
    expect(texts).not.toContain(token);
  } finally {
    await session.close();
    await heddle.close();
  }
});
