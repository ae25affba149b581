/** How events are made: so many batches of so many events, one batch every so many milliseconds. */
export interface Pace {
  readonly batches: number;
  readonly batchEvents: number;
  readonly intervalMs: number;
}
