// Fields that requests have in common, checked and read in one way.
import type { ThreadKey } from "./log/event-log.js";
import { invalidField } from "./thread/errors.js";
import { defaultTenant, isUuid, parseId, type ThreadId } from "./thread/ids.js";
import { limits } from "./thread/limits.js";

export const keyOf = (threadId: string): ThreadKey => ({
  tenant: defaultTenant,
  threadId: parseId<ThreadId>(threadId, "thread_id"),
});

/** The id that the page begins after. */
export function parsePageToken(token: string): ThreadId {
  if (!isUuid(token)) throw invalidField("page_token", "must be one that this server made");
  return token as ThreadId;
}

export const clampPageSize = (pageSize: number): number =>
  Math.min(pageSize || limits.pageSize.default, limits.pageSize.max);

export function checkLabels(labels: Readonly<Record<string, string>>): void {
  const { count, keyUnits, valueUnits } = limits.labels;
  const entries = Object.entries(labels);
  if (entries.length > count) throw invalidField("labels", `may have at most ${count} entries`);
  for (const [name, value] of entries) {
    if (name.length < 1 || name.length > keyUnits)
      throw invalidField("labels", `must have keys of 1 to ${keyUnits} characters`);
    if (value.length > valueUnits) throw invalidField("labels", `must have values of at most ${valueUnits} characters`);
  }
}
