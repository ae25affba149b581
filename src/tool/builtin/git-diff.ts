// What differs between the workspace and a revision of its repository. Git only reads here: nothing that the repository names is
// run, and its index is not touched.
import { join } from "node:path";
import { z } from "zod";
import { type Commands, workspaceOf } from "../command/commands.js";
import { changeWords, type FileChange, readNumstat } from "../command/diff-stat.js";
import { type Git, gitComplaint, openGit } from "../command/run-git.js";
import type { ProcessEnd } from "../command/run-process.js";
import { defineTool, type ToolContext, type ToolDefinition, ToolFailure } from "../tool.js";
import { counted, oneLine } from "../words.js";
import { Workspace } from "../workspace/workspace.js";

/** Files that are listed; the others are counted. */
const listedFiles = 1_000;
/** What the model reads of the diff itself. The whole is a part of the call. */
const shownUnits = 32 * 1024;
const callTimeoutMs = 300_000;

const input = z.object({
  revision: z
    .string()
    .max(500)
    .regex(/^[^-\s\p{C}][^\s\p{C}]*$/u, "must be a revision, such as HEAD~2, main or a commit")
    .default("HEAD")
    .describe("What to compare with. Default: HEAD"),
  paths: z
    .array(z.string().min(1).max(4_096))
    .max(100)
    .optional()
    .describe("Only these files and directories, from the workspace"),
});

const file = z.object({
  path: z.string().describe("From the workspace"),
  added: z.number().int().optional().describe("Lines; none for what is no text"),
  removed: z.number().int().optional().describe("Lines; none for what is no text"),
});

const output = z.object({
  revision: z.string().describe("What was compared with"),
  files: z.array(file).describe("As many as are listed"),
  totalFiles: z.number().int().describe("How many have changed"),
  added: z.number().int().describe("Lines, of all files"),
  removed: z.number().int().describe("Lines, of all files"),
  untracked: z.array(z.string()).describe("Files that git does not know, as many as are listed"),
  totalUntracked: z.number().int().describe("How many there are"),
  diff: z.string().describe("The beginning of the difference"),
});

export function gitDiff(commands: Commands): ToolDefinition<typeof input, typeof output> {
  return defineTool({
    name: "git_diff",
    title: "Compare with git",
    description:
      "Show what differs between the files of the workspace and a revision of its git repository, and which files git does not know yet.",
    kind: "read",
    input,
    output,
    timeoutMs: callTimeoutMs,
    isolation: `git reads only, and runs nothing that the repository names; ${commands.sandbox.isolation.replace("writable workspace", "read-only workspace")}`,
    describe: ({ revision }) => `Comparing with ${oneLine(revision) || "HEAD"}`,
    run: async ({ revision, paths = [] }, context) => {
      const workspace = await workspaceOf(context);
      const git = await openGit(commands, context);
      const base = await baseOf(git, revision, context);
      const within = ["--", ...(await pathspecs(workspace, paths))];
      const changes = readNumstat(await printed(git, [...diff, "--numstat", "-z", base, ...within], context));
      const patch = await git.run([...diff, "--patch", base, ...within], { isTold: true });
      if (patch.exitCode !== 0) throw failed(patch, context);
      const others = await printed(git, [...unknown, ...within], context);
      const untracked = others.split("\0").filter(Boolean);
      const added = sum(changes, "added");
      const removed = sum(changes, "removed");
      return {
        result: {
          revision,
          files: changes.slice(0, listedFiles),
          totalFiles: changes.length,
          added,
          removed,
          untracked: untracked.slice(0, listedFiles),
          totalUntracked: untracked.length,
          diff: beginning(patch.stdout.whole()),
        },
        summary: summaryOf(changes.length, { added, removed, untracked: untracked.length }),
        content: patch.stdout.bytes > 0 ? [{ id: "diff", mediaType: "text/x-diff", data: patch.stdout.whole() }] : [],
        locations: changes.map(({ path }) => ({ path: join(workspace, path) })),
      };
    },
    toModel: textForModel,
  });
}

const diff = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"] as const;
const unknown = ["ls-files", "--others", "--exclude-standard", "-z"] as const;

/** By their words alone: a file that is gone has changed as well. */
async function pathspecs(workspace: string, paths: readonly string[]): Promise<string[]> {
  const opened = await Workspace.open(workspace);
  try {
    const places = paths.map((path) => opened.locate(path).relative);
    return places.map((place) => (place === "." ? ":(top)" : `:(top,literal)${place}`));
  } finally {
    await opened.close();
  }
}

/** The commit's name, or that of the empty tree where nothing has been committed yet. */
async function baseOf(git: Git, revision: string, context: ToolContext): Promise<string> {
  const named = await git.run(["rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{tree}`]);
  if (named.exitCode === 0) return named.stdout.whole().trim();
  if (named.cause !== "exited") throw failed(named, context);
  const hasCommits = (await git.run(["rev-parse", "--verify", "--quiet", "HEAD"])).exitCode === 0;
  if (revision === "HEAD" && !hasCommits)
    return (await printed(git, ["hash-object", "-t", "tree", "--stdin"], context)).trim();
  throw new ToolFailure(`Unknown revision: ${oneLine(revision)}; look at git log with gather for the names there are`, {
    code: "ENOENT",
  });
}

async function printed(git: Git, args: readonly string[], context: ToolContext): Promise<string> {
  const end = await git.run(args);
  if (end.exitCode !== 0) throw failed(end, context);
  return end.stdout.whole();
}

function failed(end: ProcessEnd, { signal }: ToolContext): unknown {
  if (end.cause === "called_off") return signal.reason;
  if (end.cause === "timed_out")
    return new ToolFailure("Git took too long; compare fewer paths", { code: "ETIMEDOUT" });
  const why = oneLine(gitComplaint(end)) || "no reason given";
  return new ToolFailure(`Git could not compare: ${why}; choose another revision or other paths`, { code: "EINVAL" });
}

const sum = (changes: readonly FileChange[], key: "added" | "removed"): number =>
  changes.reduce((total, change) => total + (change[key] ?? 0), 0);

function summaryOf(
  files: number,
  { added, removed, untracked }: { added: number; removed: number; untracked: number },
): string {
  const words = changeWords(files, added, removed);
  return untracked === 0 ? words : `${words}, ${counted(untracked, "file", "files")} untracked`;
}

/** At the end of a line where there is one. */
function beginning(text: string): string {
  if (text.length <= shownUnits) return text;
  const cut = text.slice(0, shownUnits);
  return `${cut.slice(0, cut.lastIndexOf("\n") + 1) || cut.replace(/[\uD800-\uDBFF]$/, "")}[The rest of the difference was left out; compare fewer paths]\n`;
}

function textForModel(result: z.output<typeof output>): string {
  const { totalFiles, added, removed, untracked, totalUntracked } = result;
  const unknownFiles =
    totalUntracked === 0
      ? []
      : [`${counted(totalUntracked, "untracked file", "untracked files")}:`, ...untracked.slice(0, 100), ""];
  const head = `${changeWords(totalFiles, added, removed)} since ${result.revision}`;
  return [head, "", ...unknownFiles, result.diff].join("\n").trimEnd();
}
