// What a scenario is given, and what it gives.
import type { Row } from "./support/rows.js";
import type { Workspace } from "./support/workspace.js";

export interface Scenario {
  readonly name: string;
  /** One line for `--help` and progress. */
  readonly about: string;
  run(bench: Bench): Promise<readonly Row[]>;
}

export interface Bench {
  readonly workspace: Workspace;
  /** Small sizes: the table has its shape, but its figures are noise. */
  readonly quick: boolean;
  /** A line about what is being done. */
  progress(text: string): void;
}

/** Runs every subject once in each round, in turn, so that what slows the machine slows them alike. */
export async function interleaved<Name extends string>(
  rounds: number,
  subjects: Readonly<Record<Name, (round: number) => Promise<number>>>,
  onRound: (round: number, values: Readonly<Record<Name, number>>) => void = () => {},
): Promise<Record<Name, number[]>> {
  const entries = Object.entries(subjects) as [Name, (round: number) => Promise<number>][];
  const measured = Object.fromEntries(entries.map(([name]) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = 0; round < rounds; round++) {
    const values = {} as Record<Name, number>;
    for (const [name, run] of entries) {
      values[name] = await run(round);
      measured[name].push(values[name]);
    }
    onRound(round + 1, values);
  }
  return measured;
}
