export const median = (values: readonly number[]): number => percentile(values, 50);

/** The value below which `percent` of the values are; of an even number, the middle two are averaged for the median. */
export function percentile(values: readonly number[], percent: number): number {
  if (values.length === 0) throw new Error("Nothing was measured");
  const sorted = [...values].sort((a, b) => a - b);
  const at = ((sorted.length - 1) * percent) / 100;
  const below = sorted[Math.floor(at)]!;
  return below + (sorted[Math.ceil(at)]! - below) * (at - Math.floor(at));
}

/** Milliseconds on a clock that all processes of the machine share. */
export const sharedNowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
