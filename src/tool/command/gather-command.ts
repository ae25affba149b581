// From a line to a command of the list with checked arguments, or to the words that say what is not allowed.
import { type ToolContext, ToolFailure } from "../tool.js";
import { oneLine } from "../words.js";
import { Workspace } from "../workspace/workspace.js";
import { type Gathered, gathered, gatherNames } from "./gather-list.js";
import { splitWords } from "./split-words.js";

export interface GatherCommand {
  /** `git` or another program. */
  readonly program: string;
  readonly args: readonly string[];
  readonly isOutside: boolean;
}

/** Contract: throws a ToolFailure for what is not in the list; asks the file system only about paths of the workspace. */
export async function gatherCommand(
  line: string,
  { workspace }: Pick<ToolContext, "workspace">,
): Promise<GatherCommand> {
  const words = splitWords(line);
  const found = gathered(words);
  if (found === undefined)
    throw refused(`gather does not run ${oneLine(words.slice(0, 2).join(" ")) || "nothing"}. It runs: ${gatherNames}`);
  const { name, entry, rest } = found;
  const sort = sorted(name, entry, rest);
  requireNeeds(name, entry, sort);
  const { paths, operands } = await placed(sort, entry, workspace);
  const [program = "", ...fixed] = name.split(" ");
  // What stands before `--` is then never taken for a path, and what stands behind it never for a flag.
  const behind = entry.operands === "revisions" || paths.length > 0 ? ["--", ...paths.map((path) => `./${path}`)] : [];
  return {
    program,
    args: [...fixed, ...(entry.always ?? []), ...sort.flags, ...operands, ...behind],
    isOutside: entry.isOutside === true,
  };
}

/** Paths as they are without links. A word that is the name of a file is a path, also where a revision could stand. */
async function placed(
  { operands, paths }: Sorted,
  entry: Gathered,
  workspace: string | undefined,
): Promise<Pick<Sorted, "operands" | "paths">> {
  const found: Pick<Sorted, "operands" | "paths"> = { operands: [], paths: [] };
  if (operands.length === 0 && paths.length === 0) return found;
  const opened = await Workspace.open(workspace);
  try {
    // What the commands would wait for, such as a pipe, is not found.
    const place = async (path: string): Promise<string> => (await opened.find(path)).relative;
    for (const word of operands) {
      const path = entry.operands === "revisions" ? await place(word).catch(() => undefined) : undefined;
      if (path === undefined) found.operands.push(word);
      else found.paths.push(path);
    }
    for (const path of paths) found.paths.push(await place(path));
    return found;
  } finally {
    await opened.close();
  }
}

interface Sorted {
  readonly flags: string[];
  readonly operands: string[];
  readonly paths: string[];
}

/** Words become flags, operands and paths, each as the list allows. */
function sorted(name: string, entry: Gathered, words: readonly string[]): Sorted {
  const result: Sorted = { flags: [], operands: [], paths: [] };
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (word === "--" && (entry.operands === "paths" || entry.operands === "revisions")) {
      result.paths.push(...words.slice(at + 1));
      break;
    }
    if (!word.startsWith("-") || word === "-") addOperand(name, entry, word, result);
    else if (takesNext(entry, word)) result.flags.push(...valued(name, entry, word, words[++at]));
    else result.flags.push(checkedFlag(name, entry, word));
  }
  return result;
}

const takesNext = ({ valued = {} }: Gathered, word: string): boolean =>
  word.length === 2 && Object.hasOwn(valued, word);

/** As one word: a value that begins with `-` is then none of the program's flags. */
function valued(name: string, { valued = {} }: Gathered, flag: string, value: string | undefined): string[] {
  if (value === undefined || !valued[flag]!.test(value)) throw refused(`${name} ${flag} needs another value`);
  return [`${flag}${value}`];
}

function checkedFlag(name: string, { flags = [], valued = {} }: Gathered, word: string): string {
  if (flags.includes(word)) return word;
  const [, long, value] = /^(--[a-z-]+)=(.*)$/s.exec(word) ?? [];
  if (long !== undefined && Object.hasOwn(valued, long) && valued[long]!.test(value!)) return word;
  const [, short, rest] = /^(-[A-Za-z])(.+)$/s.exec(word) ?? [];
  if (short !== undefined && Object.hasOwn(valued, short) && valued[short]!.test(rest!)) return word;
  // `-5` of git log, and `-la` of ls.
  if (Object.hasOwn(valued, "-n") && /^-\d{1,6}$/.test(word)) return word;
  if (/^-[A-Za-z1]{2,}$/.test(word) && [...word.slice(1)].every((letter) => flags.includes(`-${letter}`))) return word;
  const known = [...flags, ...Object.keys(valued)].join(" ") || "none";
  throw refused(`gather does not run ${name} with ${oneLine(word)}. Flags that it takes: ${known}`);
}

function addOperand(name: string, { operands }: Gathered, word: string, result: Sorted): void {
  switch (operands) {
    case "paths":
      return void result.paths.push(word);
    case "revisions":
      return void result.operands.push(word);
    case "names of revisions":
      // These say of a path whether it is there, wherever that is.
      if (/^[\w@:^]/.test(word) && !word.includes("../")) return void result.operands.push(word);
      break;
    case "names":
      if (/^@?\w[\w.+/-]{0,200}$/.test(word) && !word.includes("..")) return void result.operands.push(word);
      break;
    case "format":
      if (/^\+[^\0\n]{1,200}$/.test(word)) return void result.operands.push(word);
      break;
    case "none":
      break;
  }
  throw refused(`gather does not run ${name} with ${oneLine(word) || "an empty word"}; leave it out`);
}

function requireNeeds(name: string, { needs }: Gathered, { flags, paths }: Pick<Sorted, "flags" | "paths">): void {
  if (needs === undefined || needs.some((need) => (need === "a path" ? paths.length > 0 : flags.includes(need))))
    return;
  throw refused(`gather runs ${name} only with ${needs.join(" or ")}`);
}

const refused = (message: string): ToolFailure => new ToolFailure(message, { code: "EPERM" });
