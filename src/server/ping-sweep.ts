// Finds HTTP/2 peers that have vanished without a word: one timer asks all of them in turn.
import type { ServerHttp2Session } from "node:http2";
import type { OpenSet } from "./open-set.js";

export interface PingSweep {
  /** Sessions that were given up. */
  lost(): number;
  stop(): void;
}

interface PingOptions {
  readonly pingMs: number;
  readonly pingTimeoutMs: number;
  readonly onLost: (session: ServerHttp2Session) => void;
}

/** A session is waiting for its next ping, or for the answer to one. Both since a moment. */
interface PingState {
  readonly phase: "quiet" | "asked";
  readonly since: number;
}

export function startPingSweep(sessions: OpenSet<ServerHttp2Session>, options: PingOptions): PingSweep {
  const states = new WeakMap<ServerHttp2Session, PingState>();
  let lost = 0;

  const visit = (session: ServerHttp2Session, now: number): void => {
    if (session.destroyed) return;
    const state = states.get(session);
    if (state === undefined) return void states.set(session, { phase: "quiet", since: now });
    if (state.phase === "quiet" && now - state.since >= options.pingMs) return void ask(session, now);
    if (state.phase === "asked" && now - state.since >= options.pingTimeoutMs) {
      lost += 1;
      options.onLost(session);
      // Not close(): that waits for the streams of a peer that will never end them.
      session.destroy();
    }
  };

  const ask = (session: ServerHttp2Session, now: number): void => {
    states.set(session, { phase: "asked", since: now });
    session.ping(() => states.set(session, { phase: "quiet", since: performance.now() }));
  };

  const timer = setInterval(
    () => {
      const now = performance.now();
      for (const session of sessions) visit(session, now);
    },
    Math.max(10, Math.min(options.pingMs, options.pingTimeoutMs) / 4),
  );
  timer.unref();
  return { lost: () => lost, stop: () => clearInterval(timer) };
}
