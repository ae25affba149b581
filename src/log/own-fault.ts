// A fault of Heddle's own in a place that everything waits for. Going on would leave every write behind it waiting for ever, and nobody
// would know: the process ends, and whoever starts next completes what was open (T1).

/** Ends the process, with the fault told. A rejected promise would not: it may be a forgotten one of a tool's, which is survived. */
export function endProcess(fault: unknown): void {
  setImmediate(() => {
    throw fault;
  });
}
