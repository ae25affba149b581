// A job for a thread of its own: finding files whose paths match. Patterns and rules can be slow on purpose.
import type { OffloadedWork } from "../offload/offload.js";
import { Workspace } from "../workspace/workspace.js";
import { compileGlob } from "./glob-pattern.js";
import { Ticker } from "./ticker.js";
import { Missed, walk } from "./walk.js";

export interface FindJob {
  readonly workspace: string | undefined;
  readonly path: string;
  readonly pattern: string;
  readonly includeIgnored: boolean;
  /** The others are counted. */
  readonly maxFiles: number;
}

export interface FindResult {
  /** From the workspace, in order. */
  readonly files: string[];
  readonly total: number;
  /** Directories that could not be read. */
  readonly missedDirectories: number;
  readonly stopped: boolean;
}

const findFiles: OffloadedWork<FindJob, FindResult, number> = async (job, report) => {
  const matches = compileGlob(job.pattern);
  await using workspace = await Workspace.open(job.workspace);
  await using start = await workspace.openDirectory(job.path);
  const skipped = start.place.relative === "." ? 0 : start.place.relative.length + 1;
  const missed = new Missed();
  const ticker = new Ticker(report);
  const files: string[] = [];
  let total = 0;
  for await (const { path } of walk({ workspace, start, includeIgnored: job.includeIgnored }, missed)) {
    ticker.tick();
    if (!matches(path.slice(skipped))) continue;
    total++;
    if (files.length < job.maxFiles) files.push(path);
  }
  ticker.end();
  return { files, total, missedDirectories: missed.directories, stopped: missed.stopped };
};
export default findFiles;
