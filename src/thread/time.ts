// Times and spans of time as the schema has them, kept to what every protobuf runtime can show.
import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema, type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";

export { timestampFromMs };

export const timestampMs = ({ seconds, nanos }: Timestamp): number => Number(seconds) * 1000 + nanos / 1_000_000;

export const now = (): Timestamp => timestampFromMs(Date.now());

const nanosPerSecond = 1_000_000_000n;
/** From the beginning of year 1 to the end of year 9999. */
const timestampSeconds = { min: -62_135_596_800n, max: 253_402_300_799n };
/** 10,000 years. */
const maxDurationSeconds = 315_576_000_000n;

const nanos = (time: Timestamp): bigint => time.seconds * nanosPerSecond + BigInt(time.nanos);

export const isTimestamp = ({ seconds, nanos }: Timestamp): boolean =>
  seconds >= timestampSeconds.min && seconds <= timestampSeconds.max && nanos >= 0 && nanos < nanosPerSecond;

/** A span of time that is not negative. */
export const isSpan = ({ seconds, nanos }: Duration): boolean =>
  seconds >= 0n && seconds <= maxDurationSeconds && nanos >= 0 && nanos < nanosPerSecond;

/** Undefined when either end is not known; never negative, for clocks that step back, and never too long to be shown. */
export function durationBetween(start: Timestamp | undefined, end: Timestamp | undefined): Duration | undefined {
  if (!start || !end) return undefined;
  const between = nanos(end) - nanos(start);
  const most = maxDurationSeconds * nanosPerSecond;
  const length = between < 0n ? 0n : between > most ? most : between;
  return create(DurationSchema, { seconds: length / nanosPerSecond, nanos: Number(length % nanosPerSecond) });
}

export function durationFromMs(ms: number): Duration {
  const whole = Math.round(ms);
  return create(DurationSchema, { seconds: BigInt(Math.floor(whole / 1000)), nanos: (whole % 1000) * 1_000_000 });
}

export const durationMs = (duration: Duration): number => Number(duration.seconds) * 1000 + duration.nanos / 1_000_000;
