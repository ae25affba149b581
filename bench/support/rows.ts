// Lines of the table: a figure of Heddle's beside its limit and the peer that the limit is measured by.
import { median } from "./statistics.js";

export type Verdict = "ok" | "over" | "";

export interface Row {
  readonly figure: string;
  readonly heddle: string;
  readonly limit: string;
  readonly peers: string;
  /** Empty where no limit applies. */
  readonly verdict: Verdict;
}

/** One value for each round. */
export type Rounds = readonly number[];

export interface Comparison {
  readonly figure: string;
  readonly heddle: Rounds;
  readonly peer: { readonly name: string; readonly values: Rounds };
  /** The limit in parts of the peer's figure, and how people say it. */
  readonly times: number;
  readonly spoken?: string;
  readonly show: (value: number) => string;
}

/** Less is better: Heddle may need so many times what the peer needs. */
export const atMost = (comparison: Comparison): Row => compare(comparison, "≤", (ratio) => ratio <= comparison.times);

/** More is better: Heddle must reach so many parts of what the peer reaches. */
export const atLeast = (comparison: Comparison): Row => compare(comparison, "≥", (ratio) => ratio >= comparison.times);

/** A figure with a limit of its own. */
export const within = (
  figure: string,
  value: number,
  limit: { at: number; show: (value: number) => string; peers?: string },
): Row => ({
  figure,
  heddle: limit.show(value),
  limit: `≤ ${limit.show(limit.at)}`,
  peers: limit.peers ?? "",
  verdict: value <= limit.at ? "ok" : "over",
});

/** A figure to be known beside a peer's, without a limit. */
export const noted = (comparison: Omit<Comparison, "times" | "spoken">): Row => ({
  ...compare({ ...comparison, times: 0 }, "", () => true),
  limit: "",
  verdict: "",
});

/** The figures are medians. The ratio is the median of the rounds' own: what slowed one round slowed both. */
function compare(
  { figure, heddle, peer, times, spoken, show }: Comparison,
  sign: string,
  holds: (ratio: number) => boolean,
): Row {
  const ratio = median(heddle.map((value, round) => value / peer.values[round]!));
  return {
    figure,
    heddle: `${show(median(heddle))}, ${multiple(ratio)}`,
    limit: `${sign} ${spoken ?? multiple(times)}`,
    peers: `${peer.name}: ${show(median(peer.values))}`,
    verdict: holds(ratio) ? "ok" : "over",
  };
}

const multiple = (value: number): string => `${value.toFixed(2)}×`;

export const micros = (value: number): string => `${value.toFixed(2)} µs`;
export const millis = (value: number): string => `${value.toFixed(2)} ms`;
export const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
export const kibibytes = (bytes: number): string => `${(bytes / 2 ** 10).toFixed(1)} KiB`;
export const perSecond = (value: number): string => `${Math.round(value).toLocaleString("en")}/s`;
