// What was under way in a data directory when its process died goes on looking so: only the next process that works there records
// what became of it. Who only reads the directory is told.
import type { StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import { serverOf } from "./find-server.js";
import { commandLine, type Where } from "./next-command.js";
import type { Source } from "./source.js";

/** What the next processes make of a run that was cut off. */
export const takenUpLater = (where: Where): string =>
  `the next ${commandLine('run "…"', where)} ends it as interrupted, and ${commandLine("serve", where)} takes it up`;

/**
 * What to say where something is under way in what was read; undefined where a server works on it. A server of a `heddle run`'s
 * own tells nobody of itself, so that its work cannot be ruled out.
 */
export async function cutOffHint(
  { dataDir }: Pick<Source, "dataDir">,
  { what, where }: { what: string; where: Where },
): Promise<string | undefined> {
  if (dataDir === undefined || (await serverOf(dataDir, undefined)) !== undefined) return undefined;
  return `no server works on ${dataDir}: unless a "heddle run" does at this moment, ${what} was cut off; ${takenUpLater(where)}`;
}

/** Says whether a run is under way behind the events of a thread that it was called with, in order. */
export function watchRunning(): (event: StreamThreadEventsResponse) => boolean {
  let isRunning: boolean | undefined;
  return ({ payload, runId }) => {
    switch (payload.case) {
      case "runStarted":
      case "runResumed":
        isRunning = true;
        break;
      case "runSuspended":
      case "runCompleted":
        isRunning = false;
        break;
      case "processStarted":
      case "processExited": // Processes outlive runs.
        break;
      default:
        // The events may begin in the middle of a run.
        if (runId !== "") isRunning ??= true;
    }
    return isRunning ?? false;
  };
}
