// Finds files of the workspace by their paths.
import { z } from "zod";
import { limits } from "../../thread/limits.js";
import { moduleBeside } from "../offload/built.js";
import { offload } from "../offload/offload.js";
import type { FindJob, FindResult } from "../search/find-files.js";
import { maxPatternUnits } from "../search/glob-pattern.js";
import { incompleteWords } from "../search/incomplete.js";
import { defineTool } from "../tool.js";
import { counted, oneLine, visible } from "../words.js";

/** The others are counted. */
const listedFiles = 1_000;

const findFiles = moduleBeside(import.meta.url, "../search/find-files");

export const globFiles = defineTool({
  name: "glob_files",
  title: "Find files",
  description: `Find files by a pattern of their paths, such as **/*.ts or src/*.{js,ts}, in order, at most ${listedFiles}. "*" stays within a name, "**" goes through directories. What Git ignores is left out.`,
  kind: "search",
  onlyLooks: true,
  input: z.object({
    pattern: z.string().regex(/\S/, "must not be empty").max(maxPatternUnits).describe("The pattern, from path"),
    path: z.string().max(limits.pathUnits).default(".").describe('Where to look. Default: ".", the workspace'),
    include_ignored: z.boolean().default(false).describe("Also what Git ignores. Default: false"),
  }),
  output: z.object({
    files: z.array(z.string()).describe("From the workspace"),
    total: z.number().int().describe("How many there are"),
    missed_directories: z.number().int().describe("Directories that could not be read"),
    stopped: z.boolean().describe("There was too much to look at all of it"),
  }),
  describe: ({ pattern }) => `Finding files matching ${oneLine(pattern)}`,
  run: async ({ pattern, path, include_ignored: includeIgnored }, context) => {
    const { workspace, signal } = context;
    const job = { workspace, pattern, path: path || ".", includeIgnored, maxFiles: listedFiles };
    const onProgress = (seen: number) =>
      context.progress(seen, undefined, `${counted(seen, "file", "files")} looked at`);
    const found = await offload<FindJob, FindResult, number>(findFiles, job, { signal, onProgress });
    const { files, total, missedDirectories, stopped } = found;
    return {
      result: { files, total, missed_directories: missedDirectories, stopped },
      summary: `Found ${counted(total, "file", "files")}`,
    };
  },
  toModel: ({ files, total, missed_directories: missedDirectories, stopped }) =>
    [
      files.length === total ? `${counted(total, "file", "files")}` : `The first ${files.length} of ${total} files`,
      ...incompleteWords({ missedDirectories, stopped }),
      ...files.map(visible),
    ].join("\n"),
});
