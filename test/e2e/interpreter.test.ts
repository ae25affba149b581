// code_interpreter of a real server: the model's code streams decoded, what it prints and makes can be followed and downloaded, and
// no interpreter outlives its thread or the server, however that ends.

import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Script } from "../../src/model/script.js";
import { TextPurpose, ToolCallOutcome, ToolCallPhase } from "../../src/thread/schema.js";
import { heddle } from "../cli/support.js";
import { type AgentServer, useAgentServers } from "../fixtures/engine/agent-server.js";
import { Session } from "../fixtures/engine/session.js";
import { valuesOf } from "../support/agent.js";
import { processesWith } from "../support/left-behind.js";
import { isAlive, ways } from "../tool/interpreter/support.js";

const code = 'console.log("hello");\nwriteFile("Table.csv", "a,b\\n1,2\\n");\nvar kept = 6;\nkept * 7';
const endless = 'console.log("begun"); for (;;);';
const call = (text: string) => ({
  toolCall: { name: "code_interpreter", input: { language: "javascript", code: text } },
});

const script: Script = {
  chunk: 5,
  turns: [
    {
      user: { exact: "compute" },
      replies: [
        { events: [call(code)] },
        { expect: { lastTool: "value:\n42" }, events: [call("kept.missing.field")] },
        { expect: { lastTool: "TypeError" }, events: [{ text: "Done." }] },
      ],
    },
    { user: { exact: "go on for ever" }, replies: [{ events: [call(endless)] }, { events: [{ text: "Done." }] }] },
  ],
};

const useServer = useAgentServers();
const sessions: Session[] = [];
afterEach(async () => {
  await Promise.all(sessions.splice(0).map((session) => session.close()));
});

async function open(sandbox: string): Promise<{ server: AgentServer; session: Session }> {
  const agent = { commands: { sandbox }, afterRestart: "end", policy: { code_interpreter: "allow" } };
  const server = await useServer({ script, agent });
  await server.start();
  const session = new Session(server.url);
  sessions.push(session);
  return { server, session };
}

describe.each(ways)("$way", ({ sandbox, isHere }) => {
  test.skipIf(!isHere)("code runs, is followed, and what it made is downloaded", async () => {
    const { server, session } = await open(sandbox);
    const { threadId } = await session.start("compute");
    const events = await session.until(threadId, "runCompleted");
    const [toolCallId, failedId] = await session.callIds(threadId, 2);
    const ofFirst = <Value extends { toolCallId: string }>(values: readonly Value[]) =>
      values.filter((value) => value.toolCallId === toolCallId);

    const deltas = ofFirst(valuesOf(events, "toolCallTextDelta"));
    expect(deltas.length).toBeGreaterThan(1);
    expect(new Set(deltas.map(({ purpose }) => purpose))).toEqual(new Set([TextPurpose.CODE]));
    expect(deltas.map(({ text }) => text).join("")).toBe(code);
    expect(ofFirst(valuesOf(events, "toolCallStarted"))[0]!.summary).toBe("Running JavaScript code (4 lines)");
    expect(ofFirst(valuesOf(events, "toolCallProgress")).map(({ phase, message }) => [phase, message])).toContainEqual([
      ToolCallPhase.INTERPRETING,
      "Starting the JavaScript interpreter",
    ]);
    expect(ofFirst(valuesOf(events, "toolCallOutputDelta")).map(({ text }) => text)).toEqual(["hello\n"]);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.SUCCEEDED, summary: expect.stringMatching(/^Code ran in .* m?s, 1 file produced$/) },
      { toolCallId: failedId, outcome: ToolCallOutcome.FAILED, summary: expect.stringMatching(/^TypeError: /) },
    ]);

    const shown = await heddle(["call", toolCallId!, "--server", server.url]);
    expect(shown.stdout).toContain("  file-1-table.csv text/csv, 8 bytes\n");
    const parent = await mkdtemp(join(tmpdir(), "heddle-download-"));
    try {
      const saved = await heddle(["call", toolCallId!, "--save", join(parent, "made"), "--server", server.url]);
      expect(saved).toMatchObject({ code: 0 });
      expect((await readdir(join(parent, "made"))).sort()).toEqual(["file-1-table.csv", "stdout"]);
      expect(await readFile(join(parent, "made/file-1-table.csv"), "utf8")).toBe("a,b\n1,2\n");
    } finally {
      await rm(parent, { recursive: true, force: true });
    }

    const before = descendants(server);
    expect(before.length).toBeGreaterThan(0);
    await session.clients.threads.deleteThread({ threadId });
    // One that was loaded ahead stays for the next thread.
    await vi.waitFor(() => expect(descendants(server).length).toBeLessThan(before.length), {
      timeout: 10_000,
    });
    expect(await server.stop()).toBe(0);
    expect(before.filter(isAlive)).toEqual([]);
  });

  test.skipIf(!isHere)(
    "cancel ends it, and kill -9 of the server leaves none, in the middle of endless code",
    async () => {
      const { server, session } = await open(sandbox);
      const first = await session.start("go on for ever");
      await session.until(first.threadId, "toolCallOutputDelta");
      await session.clients.threads.cancelRun(first);
      const events = await session.until(first.threadId, "runCompleted");
      expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.CANCELLED }]);

      const second = await session.start("go on for ever");
      await session.until(second.threadId, "toolCallOutputDelta");
      const left = descendants(server);
      expect(left.length).toBeGreaterThan(0);
      await server.kill();
      await vi.waitFor(() => expect(left.filter(isAlive)).toEqual([]), { timeout: 10_000 });
    },
  );
});

/** Processes that the server has started, and they, and so on. */
function descendants({ dir }: AgentServer): number[] {
  const roots = processesWith(join(dir, "config.json"));
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      parents.set(
        Number(name),
        Number(/^\d+ \(.*\) \S (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, "latin1"))?.[1]),
      );
    } catch {
      // Gone meanwhile.
    }
  }
  const found = new Set(roots);
  for (let before = 0; before !== found.size; ) {
    before = found.size;
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid);
  }
  return [...found].filter((pid) => !roots.includes(pid));
}
