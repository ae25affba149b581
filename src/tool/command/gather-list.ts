// The commands that gather runs: each only looks, with flags that only look. A flag that is not named here is refused, for
// among the others are those that write files, run programs or read lists of names from anywhere.

export interface Gathered {
  /** Flags without a value. Single letters may be joined. */
  readonly flags?: readonly string[];
  /** Flags with a value behind `=`, or as the next word for single letters, and what the value may be. */
  readonly valued?: Readonly<Record<string, RegExp>>;
  /** What else may stand there. Paths are held in the workspace; behind revisions there may be some. */
  readonly operands: "none" | "paths" | "revisions" | "names of revisions" | "names" | "format";
  /** Said to the program before everything else. */
  readonly always?: readonly string[];
  /** At least one of these must be there. */
  readonly needs?: readonly string[];
  /** It looks at the machine, not at the workspace: it runs outside, where no file of the workspace can lead it astray. */
  readonly isOutside?: boolean;
}

const number = /^\d{1,6}$/;
/** Dates, authors, texts to look for. */
const words = /^[^\0]{1,500}$/;
/** A format without `%G`, which asks a program whether a signature is right. */
const format = /^(?:(?!%-?\+? ?G)[^\0]){0,500}$/;

const diffFlags = [
  "--stat",
  "--shortstat",
  "--numstat",
  "--name-only",
  "--name-status",
  "--summary",
  "--cached",
  "--staged",
  "--merge-base",
  "--minimal",
  "--patience",
  "--histogram",
  "--word-diff",
  "--no-renames",
  "--raw",
  "--no-patch",
  "--patch",
  "--check",
  "-p",
  "-u",
  "-s",
  "-w",
  "-b",
  "-M",
  "-C",
  "-R",
] as const;
const diffValued = {
  "--unified": number,
  "-U": number,
  "--diff-filter": /^[A-Za-z]{1,20}$/,
  "--diff-algorithm": /^[a-z]{1,20}$/,
  "-S": words,
  "-G": words,
} as const;
const logValued = {
  ...diffValued,
  "-n": number,
  "--max-count": number,
  "--skip": number,
  "--since": words,
  "--after": words,
  "--until": words,
  "--before": words,
  "--author": words,
  "--committer": words,
  "--grep": words,
  "--format": format,
  "--pretty": format,
  "--date": /^[a-z0-9:-]{1,40}$/,
} as const;
const logFlags = [
  ...diffFlags,
  "--oneline",
  "--graph",
  "--decorate",
  "--no-decorate",
  "--all",
  "--branches",
  "--tags",
  "--merges",
  "--no-merges",
  "--first-parent",
  "--reverse",
  "--follow",
  "--abbrev-commit",
  "-i",
] as const;
/** Nothing of the repository's runs on contents, and no submodule is entered: it has a configuration of its own. */
const plainDiff = ["--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all"] as const;

const version: Gathered = { flags: ["--version"], operands: "none", needs: ["--version"], isOutside: true };

const programs: Readonly<Record<string, Gathered>> = {
  "git status": {
    flags: ["--short", "--branch", "--porcelain", "--long", "--ignored", "--show-stash", "-s", "-b", "-z"],
    valued: { "--untracked-files": /^(?:no|normal|all)$/, "--porcelain": /^v[12]$/ },
    operands: "paths",
    always: ["--ignore-submodules=all"],
  },
  "git log": { flags: logFlags, valued: logValued, operands: "revisions", always: plainDiff },
  "git show": { flags: logFlags, valued: logValued, operands: "revisions", always: plainDiff },
  "git diff": { flags: diffFlags, valued: diffValued, operands: "revisions", always: plainDiff },
  "git branch": {
    flags: ["--list", "--show-current", "--all", "--remotes", "--verbose", "-a", "-r", "-v", "-vv"],
    valued: { "--sort": /^-?[a-z:]{1,40}$/, "--contains": /^[^-\0][^\0]{0,200}$/, "--merged": /^[^-\0][^\0]{0,200}$/ },
    operands: "none",
  },
  "git tag": {
    flags: ["--list", "-l"],
    valued: { "--sort": /^-?[a-z:]{1,40}$/ },
    operands: "none",
    always: ["--list"],
  },
  "git rev-parse": {
    flags: ["--short", "--abbrev-ref", "--show-prefix", "--is-inside-work-tree", "--verify", "--quiet", "-q"],
    operands: "names of revisions",
  },
  "git describe": { flags: ["--tags", "--all", "--always", "--long"], operands: "names of revisions" },
  "git ls-files": {
    flags: [
      "--cached",
      "--others",
      "--modified",
      "--deleted",
      "--stage",
      "--exclude-standard",
      "-c",
      "-o",
      "-m",
      "-d",
      "-s",
    ],
    operands: "paths",
  },
  ls: { flags: [..."laAhR1tSrdFisp".split("").map((flag) => `-${flag}`), "--all"], operands: "paths" },
  du: {
    flags: [..."shacxb".split("").map((flag) => `-${flag}`), "--summarize"],
    valued: { "--max-depth": number, "-d": number },
    operands: "paths",
  },
  wc: { flags: [..."lwcmL".split("").map((flag) => `-${flag}`)], operands: "paths", needs: ["a path"] },
  file: { flags: ["-b", "-i", "--mime-type", "--brief", "--mime"], operands: "paths", needs: ["a path"] },
  stat: { flags: ["-t"], valued: { "-c": words, "--format": words }, operands: "paths", needs: ["a path"] },
  pwd: { operands: "none" },
  df: { flags: ["-h", "-T", "-i", "-k"], operands: "none" },
  uname: { flags: [..."asnrvmpio".split("").map((flag) => `-${flag}`)], operands: "none", isOutside: true },
  whoami: { operands: "none", isOutside: true },
  id: { flags: ["-u", "-g", "-n", "-G"], operands: "none", isOutside: true },
  nproc: { operands: "none", isOutside: true },
  uptime: { flags: ["-p", "-s"], operands: "none", isOutside: true },
  free: { flags: ["-h", "-m", "-g"], operands: "none", isOutside: true },
  date: { flags: ["-u", "-R", "-I"], operands: "format", isOutside: true },
  which: { flags: ["-a"], operands: "names", isOutside: true },
  "npm ls": {
    flags: ["--all", "--json", "--long", "--parseable", "--prod", "-a"],
    valued: { "--depth": number, "--omit": /^(?:dev|optional|peer)$/ },
    operands: "names",
  },
  "go version": { operands: "none", isOutside: true },
  ...Object.fromEntries(
    [
      ...[
        "git",
        "node",
        "npm",
        "pnpm",
        "yarn",
        "bun",
        "deno",
        "python",
        "python3",
        "pip",
        "pip3",
        "ruby",
        "php",
        "perl",
      ],
      ...["java", "javac", "cargo", "rustc", "gcc", "g++", "clang", "make", "cmake", "bash", "docker", "rg", "jq"],
    ].map((name) => [name, version]),
  ),
};

/** What the words name, and what is behind it. Undefined when it is not in the list. */
export function gathered(
  words: readonly string[],
): { name: string; entry: Gathered; rest: readonly string[] } | undefined {
  const [first = "", second = ""] = words;
  for (const [name, length] of [[`${first} ${second}`, 2] as const, [first, 1] as const])
    if (Object.hasOwn(programs, name)) return { name, entry: programs[name]!, rest: words.slice(length) };
  return undefined;
}

/** For the model: `git status, git log, …`. */
export const gatherNames: string = [
  ...Object.keys(programs).filter((name) => programs[name] !== version),
  `--version of ${Object.keys(programs)
    .filter((name) => programs[name] === version)
    .join(" ")}`,
].join(", ");
