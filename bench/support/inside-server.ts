// A server upon a core that the bench calls from inside its process: what it does is measured without a request in front of it.
import { defaultConfig } from "../../src/config.js";
import type { Door } from "../../src/server/exchange.js";
import { type BuiltCore, load } from "./built.js";

/** `doors`: further ones, behind the lane. */
export async function startInside(
  core: Pick<BuiltCore, "threads">,
  doors: readonly Door[] = [],
): Promise<{ port: number }> {
  const { createLane } =
    await load<typeof import("../../src/projection/connect/lane.js")>("projection/connect/lane.js");
  const { refuse } =
    await load<typeof import("../../src/projection/connect/refuse.js")>("projection/connect/refuse.js");
  const { startServer } = await load<typeof import("../../src/server/start-server.js")>("server/start-server.js");
  const { limits, timing } = defaultConfig;
  return startServer({
    limits,
    timing,
    tokens: [],
    allowedOrigins: [],
    listen: { host: "127.0.0.1", port: 0 },
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    doors: [createLane(core.threads, { ...limits, onUnexpected: () => {} }), ...doors],
    fallback: (_request, response) => response.end(),
    reject: refuse,
  });
}
