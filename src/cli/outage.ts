// The patience of a run with a server that went away: shown while it lasts, and bounded.
import type { ConnectError } from "@connectrpc/connect";
import type { FollowState } from "../client/index.js";
import { reportOutages } from "./follow.js";
import type { RunView } from "./run-view.js";

/** A server that restarts is back long before. */
export const longestOutageMs = 120_000;

export interface OutageWatch {
  readonly onState: (state: FollowState) => void;
  stop(): void;
}

/** `giveUp` is called once an outage has lasted too long, with what the last try met. */
export function watchOutages(
  view: Pick<RunView, "note" | "away">,
  giveUp: (reason: ConnectError) => void,
): OutageWatch {
  const report = reportOutages((text) => view.note(text));
  let outage: { reason: ConnectError; readonly timer: NodeJS.Timeout } | undefined;
  const stop = () => {
    clearTimeout(outage?.timer);
    outage = undefined;
  };
  return {
    onState(state) {
      report(state);
      if (state.state === "waiting") {
        if (outage === undefined) {
          view.away(true);
          const timer = setTimeout(() => outage && giveUp(outage.reason), longestOutageMs);
          outage = { reason: state.reason, timer };
        }
        outage.reason = state.reason;
      }
      if (state.state === "open" && outage !== undefined) {
        stop();
        view.away(false);
      }
    },
    stop,
  };
}
