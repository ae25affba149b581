// Times and spans of time as the schema has them, kept to what every protobuf runtime can show.
import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";

export const timestampMs = ({ seconds, nanos }: Timestamp): number => Number(seconds) * 1000 + nanos / 1_000_000;

export function timestampFromMs(ms: number): Timestamp {
  const seconds = Math.floor(ms / 1000);
  return { $typeName: "google.protobuf.Timestamp", seconds: BigInt(seconds), nanos: (ms - seconds * 1000) * 1_000_000 };
}

const duration = (seconds: number, nanos: number): Duration => ({
  $typeName: "google.protobuf.Duration",
  seconds: BigInt(seconds),
  nanos,
});

/** What is said in one millisecond shares its time: nobody changes one. */
export function now(): Timestamp {
  const ms = Date.now();
  if (ms !== newestMs) {
    newestMs = ms;
    newest = timestampFromMs(ms);
  }
  return newest;
}

let newestMs = 0;
let newest = timestampFromMs(newestMs);

const nanosPerSecond = 1_000_000_000;
/** From the beginning of year 1 to the end of year 9999. */
const timestampSeconds = { min: -62_135_596_800n, max: 253_402_300_799n };
/** 10,000 years. */
const maxDurationSeconds = 315_576_000_000;

export const isTimestamp = ({ seconds, nanos }: Timestamp): boolean =>
  seconds >= timestampSeconds.min && seconds <= timestampSeconds.max && nanos >= 0 && nanos < nanosPerSecond;

/** A span of time that is not negative. */
export const isSpan = ({ seconds, nanos }: Duration): boolean =>
  seconds >= 0n && seconds <= maxDurationSeconds && nanos >= 0 && nanos < nanosPerSecond;

/**
 * Undefined when either end is not known; never negative, for clocks that step back, and never too long to be shown. Contract: both are
 * times (`isTimestamp`).
 */
export function durationBetween(start: Timestamp | undefined, end: Timestamp | undefined): Duration | undefined {
  if (!start || !end) return undefined;
  const nanos = end.nanos - start.nanos;
  const seconds = Number(end.seconds - start.seconds) - (nanos < 0 ? 1 : 0);
  if (seconds < 0) return duration(0, 0);
  return seconds >= maxDurationSeconds
    ? duration(maxDurationSeconds, 0)
    : duration(seconds, nanos < 0 ? nanos + nanosPerSecond : nanos);
}

export function durationFromMs(ms: number): Duration {
  const whole = Math.round(ms);
  return duration(Math.floor(whole / 1000), (whole % 1000) * 1_000_000);
}

export const durationMs = (duration: Duration): number => Number(duration.seconds) * 1000 + duration.nanos / 1_000_000;
