// Searches the files of the workspace, line by line, for a regular expression.
import { z } from "zod";
import { limits } from "../../thread/limits.js";
import { moduleBeside } from "../offload/built.js";
import { offload } from "../offload/offload.js";
import { maxPatternUnits } from "../search/glob-pattern.js";
import { incompleteWords } from "../search/incomplete.js";
import type { FoundLine } from "../search/matching-lines.js";
import type { SearchJob, SearchResult } from "../search/search-files.js";
import { defineTool } from "../tool.js";
import { counted, oneLine, visible } from "../words.js";
import { Workspace } from "../workspace/workspace.js";

const defaultMatches = 100;
const maxMatches = 1_000;
const maxContext = 10;

const searchFiles = moduleBeside(import.meta.url, "../search/search-files");

const line = z.object({
  number: z.number().int().describe("From 1"),
  text: z.string().describe("Without its line break"),
  match: z.boolean().describe("False: it only stands around one that matches"),
});

const output = z.object({
  files: z
    .array(
      z.object({
        path: z.string().describe("From the workspace"),
        matches: z.number().int().describe("Lines that match"),
        lines: z.array(line).describe("Those that are listed"),
      }),
    )
    .describe("Those with lines that are listed"),
  total_matches: z.number().int().describe("Lines that match, also those that are not listed"),
  total_files: z.number().int().describe("Files with such lines"),
  searched_files: z.number().int().describe("How many were looked at"),
  skipped_files: z.number().int().describe("Binary, too large, or not to be read"),
  unread_files: z.number().int().describe("Of these, those that could not be read"),
  missed_directories: z.number().int().describe("Directories that could not be read"),
  stopped: z.boolean().describe("There was too much to look at all of it"),
});
type Output = z.infer<typeof output>;

export const grepFiles = defineTool({
  name: "grep_files",
  title: "Search files",
  description:
    "Search the files of the workspace for lines that match a regular expression (JavaScript). What Git ignores, binary files and files above 8 MiB are left out.",
  kind: "search",
  onlyLooks: true,
  input: z.object({
    pattern: z.string().min(1).max(maxPatternUnits).describe("The regular expression, matched within each line"),
    path: z.string().max(limits.pathUnits).default(".").describe('A directory or a file. Default: ".", the workspace'),
    glob: z.string().max(maxPatternUnits).optional().describe("Only files whose names or paths match, such as *.ts"),
    ignore_case: z.boolean().default(false).describe("Take upper and lower case as the same. Default: false"),
    context: z.number().int().min(0).max(maxContext).default(0).describe("Lines before and after each. Default: 0"),
    max_matches: z
      .number()
      .int()
      .min(1)
      .max(maxMatches)
      .default(defaultMatches)
      .describe(`How many to list; the others are counted. Default: ${defaultMatches}`),
    include_ignored: z.boolean().default(false).describe("Also what Git ignores. Default: false"),
  }),
  output,
  describe: ({ pattern }) => `Searching files for "${oneLine(pattern)}"`,
  run: async (input, context) => {
    const { workspace, signal } = context;
    const job = {
      workspace,
      path: input.path || ".",
      pattern: input.pattern,
      glob: input.glob || undefined,
      ignoreCase: input.ignore_case,
      context: input.context,
      includeIgnored: input.include_ignored,
      maxMatches: input.max_matches,
    };
    const onProgress = (seen: number) => context.progress(seen, undefined, `${counted(seen, "file", "files")} scanned`);
    const found = await offload<SearchJob, SearchResult, number>(searchFiles, job, { signal, onProgress });
    return {
      result: {
        files: found.files,
        total_matches: found.totalMatches,
        total_files: found.totalFiles,
        searched_files: found.searchedFiles,
        skipped_files: found.skippedFiles,
        unread_files: found.unreadFiles,
        missed_directories: found.missedDirectories,
        stopped: found.stopped,
      },
      summary: `Found ${foundWords(found.totalMatches, found.totalFiles)}${unreadWords(found.unreadFiles)}`,
      locations: await locationsOf(workspace, found.files),
    };
  },
  toModel: (result) =>
    [
      headWords(result),
      ...incompleteWords({ missedDirectories: result.missed_directories, stopped: result.stopped }),
      ...result.files.flatMap(({ path, lines }) => [visible(path), ...linesWithGaps(lines)]),
    ].join("\n"),
});

async function locationsOf(directory: string | undefined, files: Output["files"]) {
  await using workspace = await Workspace.open(directory);
  return files
    .flatMap(({ path, lines }) => lines.filter(({ match }) => match).map(({ number }) => ({ path, line: number })))
    .slice(0, limits.locations)
    .map(({ path, line }) => ({ path: workspace.locate(path).absolute, line }));
}

const foundWords = (matches: number, files: number): string =>
  matches === 0 ? "no matches" : `${counted(matches, "match", "matches")} in ${counted(files, "file", "files")}`;

/** What is binary or too large is left out by design; that a file could not be read, people should know. */
const unreadWords = (files: number): string =>
  files === 0 ? "" : `; ${counted(files, "file", "files")} could not be read`;

function headWords({ files, total_matches, total_files, searched_files, skipped_files, unread_files }: Output): string {
  const listed = files.flatMap(({ lines }) => lines.filter(({ match }) => match)).length;
  return [
    `${foundWords(total_matches, total_files)} (${counted(searched_files, "file", "files")} searched)`,
    listed < total_matches ? `the first ${listed} are listed` : "",
    skipped_files === 0
      ? ""
      : `${counted(skipped_files, "file was", "files were")} skipped: binary, too large, or not to be read`,
    unread_files === 0 ? "" : `${unread_files} of them could not be read`,
  ]
    .filter(Boolean)
    .join("; ");
}

/** `12: the line` for a match, `12- the line` beside one, `--` where lines are left out between two groups. */
function linesWithGaps(lines: readonly FoundLine[]): string[] {
  const hasContext = lines.some(({ match }) => !match);
  return lines.flatMap(({ number, text, match }, index) => {
    const isGap = hasContext && index > 0 && lines[index - 1]!.number !== number - 1;
    return [...(isGap ? ["--"] : []), `${number}${match ? ":" : "-"} ${text}`];
  });
}
