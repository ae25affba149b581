// Heddle as `npm run build` makes it, for figures that are taken inside one process. The bench itself runs through a
// loader that rewrites functions as they are made: measured code must not.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { AgentConfig } from "../../src/config.js";
import type { EventLog } from "../../src/log/event-log.js";
import type { Model } from "../../src/model/model.js";
import type { ToolDefinition } from "../../src/tool/tool.js";
import type { ToolServers } from "../../src/tool/tool-server.js";

/** The variable that names another build to the bench's processes. */
export const distVariable = "HEDDLE_BENCH_DIST";

export function distDirectory(): string {
  const dist = process.env[distVariable] ?? join(import.meta.dirname, "../../dist");
  if (existsSync(join(dist, "src/cli/main.js"))) return dist;
  throw new Error(`There is no built server in ${dist}: run npm run build first`);
}

/** The inside of a server upon a data directory, wired like compose.ts wires it. */
export async function openBuiltCore(dir: string) {
  await load("cli/v8-flags.js"); // As the server tells V8.
  const { openLmdbLog } = await load<typeof import("../../src/log/lmdb.js")>("log/lmdb.js");
  return wire(await openLmdbLog({ dir }));
}

export type BuiltCore = Awaited<ReturnType<typeof openBuiltCore>>;

/** Who answers runs, and with which tools. */
interface Agent {
  readonly model?: Model;
  readonly tools?: readonly ToolDefinition[];
  readonly servers?: ToolServers;
  /** What differs from the configuration's defaults. */
  readonly agent?: Partial<AgentConfig>;
}

/** The same upon another log. */
export async function wire(log: EventLog, { model, tools = [], servers, agent: changes = {} }: Agent = {}) {
  const { Recorder } = await load<typeof import("../../src/recorder/recorder.js")>("recorder/recorder.js");
  const { Recordings } = await load<typeof import("../../src/recorder/recordings.js")>("recorder/recordings.js");
  const { createRedactor } = await load<typeof import("../../src/thread/redact.js")>("thread/redact.js");
  const { Feeds } = await load<typeof import("../../src/stream/feeds.js")>("stream/feeds.js");
  const { Hub } = await load<typeof import("../../src/stream/hub.js")>("stream/hub.js");
  const { Threads } = await load<typeof import("../../src/threads.js")>("threads.js");
  const recorder = new Recorder(log, createRedactor({ secrets: [] }));
  const recordings = new Recordings(recorder, { onError: fail });
  const { createRuns } = await load<typeof import("../../src/compose-agent.js")>("compose-agent.js");
  const { defaultConfig } = await load<typeof import("../../src/config.js")>("config.js");
  const { ToolRegistry } = await load<typeof import("../../src/tool/registry.js")>("tool/registry.js");
  const { OfferedTools } =
    await load<typeof import("../../src/tool/client/offered-tools.js")>("tool/client/offered-tools.js");
  const { noToolServers } = await load<typeof import("../../src/tool/tool-server.js")>("tool/tool-server.js");
  const supply = { tools: new ToolRegistry(tools), servers: servers ?? noToolServers, offered: new OfferedTools() };
  const agent = { models: new Map<string, Model>(), supply };
  if (model) agent.models.set(defaultConfig.agent.model, model);
  const runs = createRuns({ ...defaultConfig.agent, ...changes }, agent, { log, recorder, onError: fail });
  const feeds = new Feeds(new Hub(log), { heartbeatMs: 15_000, maxAgeMs: 3_600_000 });
  const threads = new Threads({ log, recorder, recordings, runs, feeds });
  const close = async (): Promise<void> => {
    feeds.close();
    recordings.dispose();
    await log.close();
  };
  return { log, threads, runs, close };
}

/** A module of src/, built. */
export const load = <Module>(path: string): Promise<Module> => import(join(distDirectory(), "src", path));

const fail = (error: unknown): never => {
  throw error;
};
