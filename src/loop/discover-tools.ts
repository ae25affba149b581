// What MCP servers offer, asked for and recorded: a run's first reply is preceded by a discovery of every server that its thread has
// not heard of as it is now. A server that is down costs its own tools, and nothing else.

import { noteDiscovery } from "../recorder/discoveries.js";
import type { ThreadDraft } from "../recorder/thread-draft.js";
import { newEvent } from "../thread/event.js";
import { newId } from "../thread/ids.js";
import { cleanSummary } from "../thread/summary.js";
import { ToolRegistry } from "../tool/registry.js";
import type { ToolOffer, ToolServer } from "../tool/tool-server.js";
import { listedTools } from "./listed-tools.js";
import type { Run, Scope } from "./run.js";
import { Stopped } from "./stop.js";

/**
 * Contract: called before each reply is asked for, and before calls of an unfinished one go on. A promise only where there is somebody to
 * ask; it rejects with Stopped.
 */
export function discoverTools(run: Run): Promise<void> | undefined {
  const { toolbox } = run;
  toolbox.refresh();
  const isFirst = toolbox.takeFirst();
  const servers = toolbox.servers();
  return servers.length === 0 ? undefined : lookAtAll(run, servers, isFirst);
}

async function lookAtAll(run: Run, servers: readonly ToolServer[], isFirst: boolean): Promise<void> {
  const scope = run.openScope();
  try {
    // All of them, whatever becomes of one: an error here is the log's.
    const settled = await Promise.allSettled(servers.map((server) => look(run, server, { scope, isFirst })));
    const failed = settled.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
    if (scope.stopped) throw new Stopped(scope.stopped);
  } finally {
    scope.close();
  }
}

interface Looking {
  readonly scope: Scope;
  readonly isFirst: boolean;
}

/** After the first time, a server is not waited for: what it offers by then is taken. */
async function look(run: Run, server: ToolServer, { scope, isFirst }: Looking): Promise<void> {
  const { offer } = server;
  if (offer === undefined) return isFirst ? ask(run, server, scope) : undefined;
  const used = run.toolbox.offerOf(server);
  if (used && sameOffer(used, offer)) return;
  if (!(await isRecorded(run, server, offer))) {
    const discoveryId = newId();
    await run.recorder.note((draft) => {
      draft.record(newEvent({ runId: run.runId, payload: started(discoveryId, server) }));
      draft.record(newEvent({ runId: run.runId, payload: found(discoveryId, offer) }));
      keepList(run, draft, { discoveryId, server, offer });
    });
  }
  run.toolbox.use(server, offer);
}

async function ask(run: Run, server: ToolServer, scope: Scope): Promise<void> {
  const discoveryId = newId();
  await run.recorder.record(started(discoveryId, server));
  const offer = await server.discover(scope.signal).catch((error: unknown) => wordsOf(error, scope));
  if (typeof offer === "string") {
    await run.recorder.record({ case: "toolDiscoveryComplete", value: { discoveryId, errorMessage: offer } });
    return;
  }
  await run.recorder.record(found(discoveryId, offer), {
    change: (draft) => keepList(run, draft, { discoveryId, server, offer }),
  });
  run.toolbox.use(server, offer);
}

const started = (discoveryId: string, { label: serverLabel }: ToolServer) =>
  ({ case: "toolDiscoveryStarted", value: { discoveryId, serverLabel } }) as const;

const found = (discoveryId: string, { tools }: ToolOffer) =>
  ({ case: "toolDiscoveryComplete", value: { discoveryId, success: true, toolCount: tools.length } }) as const;

/** Whoever follows the thread has been told of this very list. */
const isRecorded = (run: Run, { label }: ToolServer, { sha256 }: ToolOffer): Promise<boolean> =>
  run.recorder.note(({ document }) =>
    document.discoveries.some((known) => known.serverLabel === label && Buffer.from(sha256).equals(known.sha256)),
  );

function keepList(
  run: Run,
  draft: ThreadDraft,
  { discoveryId, server, offer }: { discoveryId: string; server: ToolServer; offer: ToolOffer },
): void {
  const tools = listedTools(new ToolRegistry(offer.tools), run.approvals.settings);
  noteDiscovery(draft, {
    discoveryId,
    serverLabel: server.label,
    sha256: offer.sha256,
    tools,
    toolsJson: offer.json,
  });
}

const sameOffer = (one: ToolOffer, other: ToolOffer): boolean =>
  one === other || Buffer.from(one.sha256).equals(other.sha256);

function wordsOf(error: unknown, { stopped }: Scope): string {
  if (stopped) return new Stopped(stopped).message;
  return cleanSummary(error instanceof Error ? error.message : "") || "The server cannot be had";
}
