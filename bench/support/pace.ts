import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";

/** How events are made: so many batches of so many events, one batch every so many milliseconds. */
export interface Pace {
  readonly batches: number;
  readonly batchEvents: number;
  /** 0: at full speed, one batch a turn of the event loop. */
  readonly intervalMs: number;
}

/** Batches that come so far apart go out one by one: what comes closer together shares a write (src/stream/hub.ts). */
export const apartMs = 3;

/** Resolves when the next batch is due. */
export const beat = (intervalMs: number): Promise<unknown> => (intervalMs === 0 ? nextTurn() : sleep(intervalMs));
