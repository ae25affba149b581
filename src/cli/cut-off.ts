// What was under way in a data directory when its process died goes on looking so: only the next process that works there records
// what became of it. Who only reads the directory is told.
import type { StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import { commandLine, type Where } from "./next-command.js";
import type { Source } from "./source.js";

/** Who records what became of a run that was cut off. */
export const recordedLater = (where: Where): string =>
  `the next ${commandLine('run "…"', where)} or ${commandLine("serve", where)} records what became of it`;

/**
 * What to say where something is under way in what was read; undefined where somebody is known to work on it: a server, or a `heddle run`.
 * Who is not known may be there all the same: on another machine, or where the directory's path is too long for a socket.
 */
export async function cutOffHint(
  { dataDir }: Pick<Source, "dataDir">,
  { what, where }: { what: string; where: Where },
): Promise<string | undefined> {
  if (dataDir === undefined || (await isWorkedOn(dataDir))) return undefined;
  return `no server was found that works on ${dataDir}: ${what} may have been cut off; if so, ${recordedLater(where)}`;
}

async function isWorkedOn(dataDir: string): Promise<boolean> {
  const { findServer, isHeard } = await import("../compose.js");
  return findServer(dataDir) !== undefined || isHeard(dataDir);
}

/** Says whether a run of Heddle's own is under way behind the events of a thread that it was called with, from its beginning on. */
export function watchRunning(): (event: StreamThreadEventsResponse) => boolean {
  let isRunning = false;
  return ({ payload }) => {
    if (payload.case === "runStarted") isRunning = payload.value.producer === "";
    else if (payload.case === "runResumed") isRunning = true;
    else if (payload.case === "runSuspended" || payload.case === "runCompleted") isRunning = false;
    return isRunning;
  };
}
