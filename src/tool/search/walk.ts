// Everything below a directory of the workspace in the order of paths, one open directory a level. Links are named, never
// followed; what Git ignores is left out unless it is asked for; what Git and Heddle keep for themselves always is.
import { isProtected } from "../workspace/protected.js";
import type { Entry, OpenDirectory, Workspace } from "../workspace/workspace.js";
import { IgnoreRules, isRuleFile } from "./ignore-rules.js";

/** What is not below so many levels, and not among so many entries, is left out. */
const maxLevels = 200;
const maxEntries = 1_000_000;

export interface Found extends Entry {
  /** From the workspace. */
  readonly path: string;
  /** What holds it. Contract: only until the next one is asked for. */
  readonly directory: OpenDirectory;
}

export interface Walk {
  readonly workspace: Workspace;
  readonly start: OpenDirectory;
  readonly includeIgnored: boolean;
}

/** What a walk could not do; filled in on the way. */
export class Missed {
  /** Directories that could not be read, or lie too deep. */
  directories = 0;
  /** It has stopped before the end. */
  stopped = false;
}

/** What is found, without directories. */
export async function* walk({ workspace, start, includeIgnored }: Walk, missed: Missed): AsyncGenerator<Found> {
  let seen = 0;
  const rules = includeIgnored ? undefined : await rulesAbove(workspace, start);
  yield* below(start, rules, 1);

  async function* below(
    directory: OpenDirectory,
    rulesHere: IgnoreRules | undefined,
    level: number,
  ): AsyncGenerator<Found> {
    const entries = await sortedEntries(directory);
    const ownRules = entries.some(({ name }) => isRuleFile(name)) ? await rulesHere?.within(directory) : rulesHere;
    for (const entry of entries) {
      if (isProtected(entry.name)) continue;
      if (++seen > maxEntries) missed.stopped = true;
      if (missed.stopped) return;
      const path = directory.place.relative === "." ? entry.name : `${directory.place.relative}/${entry.name}`;
      const isDirectory = entry.type === "directory";
      if (ownRules?.ignores(isDirectory ? `${path}/` : path)) continue;
      if (!isDirectory) {
        yield { ...entry, path, directory };
        continue;
      }
      const inner = level < maxLevels ? await directory.openDirectory(entry.name).catch(() => undefined) : undefined;
      if (inner === undefined) {
        missed.directories++;
        continue;
      }
      try {
        yield* below(inner, ownRules, level + 1);
      } catch (reason) {
        if (!isUnreadable(reason)) throw reason;
        missed.directories++;
      } finally {
        await inner.close();
      }
    }
  }
}

/** In the order of their paths: what a directory holds comes behind its name and a slash. */
async function sortedEntries(directory: OpenDirectory): Promise<Entry[]> {
  const entries: { key: string; entry: Entry }[] = [];
  for await (const entry of directory.entries())
    entries.push({ key: entry.type === "directory" ? `${entry.name}/` : entry.name, entry });
  return entries.sort((one, other) => (one.key < other.key ? -1 : 1)).map(({ entry }) => entry);
}

/** The rules that hold where the walk starts. Whoever starts inside what is ignored wants to see it: then none from above. */
async function rulesAbove(workspace: Workspace, start: OpenDirectory): Promise<IgnoreRules> {
  let rules = await IgnoreRules.ofRepository(workspace);
  if (start.place.relative === ".") return rules;
  const names = start.place.relative.split("/");
  for (let level = 0; level < names.length; level++) {
    await using above = await workspace.openDirectory(names.slice(0, level).join("/") || ".");
    rules = await rules.within(above);
    if (rules.ignores(`${names.slice(0, level + 1).join("/")}/`)) return IgnoreRules.none();
  }
  return rules;
}

const isUnreadable = (reason: unknown): boolean => reason instanceof Error && reason.name === "ToolFailure";
