import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema, type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";

export const now = (): Timestamp => timestampFromMs(Date.now());

const nanosPerSecond = 1_000_000_000n;

const nanos = (time: Timestamp): bigint => time.seconds * nanosPerSecond + BigInt(time.nanos);

/** Undefined when either end is not known; never negative, for clocks that step back. */
export function durationBetween(start: Timestamp | undefined, end: Timestamp | undefined): Duration | undefined {
  if (!start || !end) return undefined;
  const between = nanos(end) - nanos(start);
  const length = between > 0n ? between : 0n;
  return create(DurationSchema, { seconds: length / nanosPerSecond, nanos: Number(length % nanosPerSecond) });
}

export const durationFromMs = (ms: number): Duration =>
  create(DurationSchema, { seconds: BigInt(Math.floor(ms / 1000)), nanos: Math.round(ms % 1000) * 1_000_000 });

export const durationMs = (duration: Duration): number => Number(duration.seconds) * 1000 + duration.nanos / 1_000_000;
