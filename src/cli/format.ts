// Times, durations and sizes for people.
import { type Duration, durationMs, type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";

const two = (value: number) => String(value).padStart(2, "0");

const dayOf = (date: Date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
const clockOf = (date: Date) => `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;

/** Local date and time to the second. */
export function dateTime(time: Timestamp | undefined): string {
  if (time === undefined) return "–";
  const date = timestampDate(time);
  return `${dayOf(date)} ${clockOf(date)}`;
}

/** Local time to the millisecond; with the day unless it is today's. */
export function eventTime(time: Timestamp | undefined, now: Date): string {
  if (time === undefined) return "--:--:--.---";
  const date = timestampDate(time);
  const clock = `${clockOf(date)}.${String(date.getMilliseconds()).padStart(3, "0")}`;
  return dayOf(date) === dayOf(now) ? clock : `${dayOf(date)} ${clock}`;
}

export function durationText(duration: Duration): string {
  const ms = durationMs(duration);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`;
}

/** To be read at a glance, such as `3 min`. */
export function roughSpan(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  const hours = Math.floor(seconds / 3600);
  if (hours < 48) return `${hours} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(hours / 24)} days`;
}

const units = ["bytes", "KiB", "MiB", "GiB"] as const;

export function sizeText(bytes: bigint): string {
  if (bytes === 1n) return "1 byte";
  let value = Number(bytes);
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit++) value /= 1024;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
