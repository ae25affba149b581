// A job for a thread of its own: searching files for a regular expression, which may take for ever.
import type { OffloadedWork } from "../offload/offload.js";
import { ToolFailure } from "../tool.js";
import { oneLine } from "../words.js";
import { readWhole } from "../workspace/read-file.js";
import { type OpenFile, Workspace } from "../workspace/workspace.js";
import { compileGlob } from "./glob-pattern.js";
import { type FoundLine, matchingLines } from "./matching-lines.js";
import { Ticker } from "./ticker.js";
import { Missed, walk } from "./walk.js";

export interface SearchJob {
  readonly workspace: string | undefined;
  /** A directory, or one file. */
  readonly path: string;
  readonly pattern: string;
  readonly glob: string | undefined;
  readonly ignoreCase: boolean;
  readonly context: number;
  readonly includeIgnored: boolean;
  /** Further ones are counted. */
  readonly maxMatches: number;
}

export interface SearchResult {
  readonly files: { path: string; matches: number; lines: FoundLine[] }[];
  readonly totalMatches: number;
  readonly totalFiles: number;
  readonly searchedFiles: number;
  /** Binary, too large, or not to be read. */
  readonly skippedFiles: number;
  /** Of these, those that could not be read. */
  readonly unreadFiles: number;
  readonly missedDirectories: number;
  readonly stopped: boolean;
}

const maxFileBytes = 8 * 1024 * 1024;
/** Together with their numbers they stay below what a model is given of one result. */
const maxUnits = 40_000;

const searchFiles: OffloadedWork<SearchJob, SearchResult, number> = async (job, report) => {
  const regex = compileRegex(job.pattern, job.ignoreCase);
  const meant = job.glob === undefined ? () => true : compileGlob(job.glob, { basename: true });
  await using workspace = await Workspace.open(job.workspace);
  const missed = new Missed();
  const ticker = new Ticker(report);
  // The first file may be the one that takes for ever.
  report(0);
  const files: SearchResult["files"] = [];
  let [totalMatches, totalFiles, skippedFiles, unreadFiles, shownMatches, units] = [0, 0, 0, 0, 0, 0];
  for await (const { path, open } of candidates({ workspace, job, meant }, missed)) {
    const { text, isUnread } = await readSearchable(path, open);
    ticker.tick();
    if (isUnread) unreadFiles++;
    if (text === undefined) skippedFiles++;
    if (text === undefined) continue;
    const bounds = { maxMatches: job.maxMatches - shownMatches, maxUnits: maxUnits - units };
    const found = matchingLines(text, { regex, context: job.context, ...bounds });
    if (found.matches === 0) continue;
    totalFiles++;
    totalMatches += found.matches;
    shownMatches += found.shownMatches;
    units += found.units;
    if (found.lines.length > 0) files.push({ path, matches: found.matches, lines: found.lines });
  }
  ticker.end();
  const searchedFiles = ticker.count - skippedFiles;
  const { directories: missedDirectories, stopped } = missed;
  return { files, totalMatches, totalFiles, searchedFiles, skippedFiles, unreadFiles, missedDirectories, stopped };
};
export default searchFiles;

interface Candidate {
  readonly path: string;
  readonly open: () => Promise<OpenFile>;
}

interface Candidates {
  readonly workspace: Workspace;
  readonly job: SearchJob;
  readonly meant: (path: string) => boolean;
}

async function* candidates({ workspace, job, meant }: Candidates, missed: Missed): AsyncGenerator<Candidate> {
  const start = await workspace.openDirectory(job.path).catch((reason) => {
    if (reason instanceof ToolFailure && reason.code === "ENOTDIR") return undefined;
    throw reason;
  });
  if (start === undefined) return yield await oneFile(workspace, job.path);
  await using _start = start;
  const skipped = start.place.relative === "." ? 0 : start.place.relative.length + 1;
  for await (const { name, type, path, directory } of walk(
    { workspace, start, includeIgnored: job.includeIgnored },
    missed,
  )) {
    if (type === "file" && meant(path.slice(skipped))) yield { path, open: () => directory.openFile(name) };
  }
}

/** Somebody who names a file wants it searched, or to know why it cannot be. */
async function oneFile(workspace: Workspace, path: string): Promise<Candidate> {
  const { handle, place } = await workspace.openFile(path);
  await handle.close();
  return { path: place.relative, open: () => workspace.openFile(path) };
}

interface Searchable {
  /** Undefined for what is not searched. What is not UTF-8 is searched as far as it can be read. */
  readonly text?: string;
  /** Nobody knows what is in it. */
  readonly isUnread?: boolean;
}

async function readSearchable(path: string, open: () => Promise<OpenFile>): Promise<Searchable> {
  try {
    const file = await open();
    await using _handle = file.handle;
    const bytes = await readWhole(file, path, maxFileBytes);
    return bytes.includes(0) ? {} : { text: bytes.toString("utf8") };
  } catch (reason) {
    return { isUnread: !(reason instanceof ToolFailure && reason.code === "EFBIG") };
  }
}

function compileRegex(pattern: string, ignoreCase: boolean): RegExp {
  const flags = ignoreCase ? "i" : "";
  try {
    return new RegExp(pattern, `${flags}u`);
  } catch {
    // Many write escapes that only the older manner takes.
  }
  try {
    return new RegExp(pattern, flags);
  } catch (reason) {
    const problem = reason instanceof Error ? reason.message : String(reason);
    throw new ToolFailure(`Bad regex: ${oneLine(problem)}; escape with \\ what is meant as it stands`, {
      code: "EINVAL",
    });
  }
}
