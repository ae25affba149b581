// A server's inside with the tools that come with Heddle, and the same work by hand. Arguments: a data directory for Heddle, one for
// raw LMDB, and a workspace.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { AppendBatch } from "../../src/log/event-log.js";
import type { Model, ModelEvent, ModelRequest } from "../../src/model/model.js";
import { newId } from "../../src/thread/ids.js";
import { RawLmdb } from "../peers/raw-lmdb.js";
import { answerAsks } from "../support/ask.js";
import { load, openBuiltCore, wire } from "../support/built.js";
import { beat } from "../support/pace.js";
import { putsOfAppends, watchAppends } from "../support/recorded-append.js";

const [dir, rawDir, workspace] = process.argv.slice(2) as [string, string, string];
/** Between a call's name and the end of the reply: what came before the end is on disk by then. */
let writesMs = 25;

export interface Work {
  readonly tool: "read_file" | "run_command";
  readonly count: number;
}

const inputs = { read_file: { path: "file.txt" }, run_command: { command: "true" } } as const;
const commandSettings = { sandbox: "auto", network: false, env: [], timeoutMs: 60_000 } as const;

const { builtinTools } = await load<typeof import("../../src/tool/builtin/index.js")>("tool/builtin/index.js");
const { Workspace } = await load<typeof import("../../src/tool/workspace/workspace.js")>("tool/workspace/workspace.js");
const { prepareCommands } = await load<typeof import("../../src/tool/command/commands.js")>("tool/command/commands.js");
const { log } = await openBuiltCore(dir);
let appends: AppendBatch[] = [];
let onIdle: () => void = () => {};
const watched = watchAppends(log, (batch) => {
  appends.push(batch);
  if (batch.busy === false) onIdle();
});
let tookMs: number[] = [];

/** Calls the tool as often as the message says. A call takes from the end of the reply until the model is asked again. */
const model: Model = {
  name: "bench:tools",
  async *stream({ messages }: ModelRequest): AsyncGenerator<ModelEvent> {
    const now = performance.now();
    const asked = messages.find(({ role }) => role === "user");
    const { tool, count } = JSON.parse(asked?.role === "user" ? asked.text : "{}") as Work;
    const done = messages.filter(({ role }) => role === "assistant").length;
    if (done > 0) tookMs.push(now - endedAt);
    if (done === count) {
      yield { type: "text", text: "Done." };
      yield { type: "end", reason: "stop", providerReason: "stop" };
      return;
    }
    yield { type: "tool_call", index: 0, id: `call_${done}`, name: tool, input: JSON.stringify(inputs[tool]) };
    yield { type: "tool_call_end", index: 0 };
    await beat(writesMs);
    endedAt = performance.now();
    yield { type: "end", reason: "tool_calls", providerReason: "tool_calls" };
  },
};
let endedAt = 0;
const core = await wire(watched, {
  model,
  tools: builtinTools({ workspace, commands: commandSettings }),
  agent: { workspace, trusted: true, maxSteps: 1000 },
});
const raw = new RawLmdb(rawDir);
const commands = prepareCommands(commandSettings, workspace);

const asks = {
  isolation: async () => commands.sandbox.isolation,
  /** A server is judged warm: the way of a call is longer than by hand, and takes longer to be compiled. */
  warmUp: async (work: Work): Promise<void> => {
    writesMs = 0;
    await asks.heddle(work);
    writesMs = 25;
  },
  /** How long each call took, from the model's last word to the stored end. */
  heddle: async (work: Work): Promise<number[]> => {
    tookMs = [];
    appends = [];
    const ended = new Promise<void>((resolve) => {
      onIdle = resolve;
    });
    const { id: threadId } = await core.threads.create({ threadId: "", title: "bench", labels: {} });
    await core.threads.send(threadId, { requestId: newId(), text: JSON.stringify(work), options: undefined });
    await ended;
    return tookMs;
  },
  /** The same by hand, between the two commits of the last call that Heddle made: its start and its end. */
  byHand: async ({ tool, count, isBare = false }: Work & { readonly isBare?: boolean }): Promise<number[]> => {
    const took: number[] = [];
    const groups = putsOfAppends(appends);
    const calls = appends.flatMap(({ calls }, index) => (calls?.length ? [index] : []));
    const [started, ended] = calls.slice(-2).map((index) => groups[index]!) as [(typeof groups)[0], (typeof groups)[0]];
    for (let call = 0; call < count; call++) {
      await beat(writesMs);
      const startedAt = performance.now();
      await raw.put(started);
      await (tool === "run_command" ? commandByHand() : isBare ? readBare() : readByHand());
      await raw.put(ended);
      took.push(performance.now() - startedAt);
    }
    return took;
  },
};

/** In the same sandbox: nothing leads out of the workspace. */
async function readByHand(): Promise<number> {
  await using held = await Workspace.open(workspace);
  const { text } = await held.readText(inputs.read_file.path, 1024 * 1024);
  return text.split("\n").length;
}

async function readBare(): Promise<number> {
  const text = await readFile(join(workspace, inputs.read_file.path), "utf8");
  return text.split("\n").length;
}

async function commandByHand(): Promise<void> {
  const argv = ["/bin/sh", "-c", inputs.run_command.command] as const;
  const held = await commands.sandbox.hold({ argv, workspace, env: commands.environment, access: "write" });
  const [program, ...args] = held.argv;
  const child = spawn(program, args, { cwd: held.cwd, env: held.env, stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.resume();
  child.stderr.resume();
  await once(child, "close");
  await held.release();
}

export type ToolsAsks = typeof asks;
answerAsks(asks);
