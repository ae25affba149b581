// What became of each document when a folder is indexed, counted and in words.

export const outcomes = ["new", "changed", "unchanged", "removed", "skipped", "failed"] as const;
export type Outcome = (typeof outcomes)[number];

export interface Indexed {
  readonly name: string;
  readonly outcome: Outcome;
  /** Of what was read. */
  readonly sizeBytes: number;
  /** Why it was skipped, or failed. */
  readonly why?: string;
}

export type Tally = Readonly<Record<Outcome, number>>;

export const noTally: Tally = { new: 0, changed: 0, unchanged: 0, removed: 0, skipped: 0, failed: 0 };

export const tallied = (tally: Tally, { outcome }: Indexed): Tally => ({ ...tally, [outcome]: tally[outcome] + 1 });

/** `Indexed 12 new, 3 changed, 185 unchanged, 1 removed (0 failed)` */
export function tallyLine(tally: Tally, { isDryRun }: { isDryRun: boolean }): string {
  const [first, rest] = isDryRun ? ["Would index", "would be removed"] : ["Indexed", "removed"];
  const done = `${tally.new} new, ${tally.changed} changed, ${tally.unchanged} unchanged, ${tally.removed} ${rest}`;
  const skipped = tally.skipped === 0 ? "" : `, ${tally.skipped} skipped`;
  return `${first} ${done} (${tally.failed} failed${skipped})`;
}
