// What Git ignores: the rules of every .gitignore from the workspace down, the deeper ones last, for the last one that matches
// decides. Rules from outside the workspace (a user's own, a repository around it) are not known.
import ignore, { type Ignore } from "ignore";
import { readWhole } from "../workspace/read-file.js";
import type { OpenDirectory, Workspace } from "../workspace/workspace.js";

const ruleFile = ".gitignore";
/** A larger file is no list of rules. */
const maxRuleBytes = 1024 * 1024;

export class IgnoreRules {
  readonly #rules: Ignore;

  private constructor(rules: Ignore) {
    this.#rules = rules;
  }

  static none(): IgnoreRules {
    return new IgnoreRules(ignore({ ignorecase: false }));
  }

  /** Those of the repository itself, that no .gitignore says. */
  static async ofRepository(workspace: Workspace): Promise<IgnoreRules> {
    const file = await workspace.readText(".git/info/exclude", maxRuleBytes).catch(() => undefined);
    const none = IgnoreRules.none();
    return file === undefined ? none : none.#with(file.text, ".");
  }

  /** Together with those of the directory. Contract: only asked where it holds a `.gitignore`. */
  async within(directory: OpenDirectory): Promise<IgnoreRules> {
    const text = await readRules(directory);
    return text === undefined ? this : this.#with(text, directory.place.relative);
  }

  /** `path` is from the workspace, and ends with `/` for a directory. */
  ignores(path: string): boolean {
    return this.#rules.ignores(path);
  }

  #with(text: string, directory: string): IgnoreRules {
    const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
    const rules = directory === "." ? lines : lines.map((line) => fromWorkspace(line, directory));
    return new IgnoreRules(ignore({ ignorecase: false }).add(this.#rules).add(rules));
  }
}

export const isRuleFile = (name: string): boolean => name === ruleFile;

/** Undefined when they cannot be read: a link is not followed, as Git does not follow it. */
async function readRules(directory: OpenDirectory): Promise<string | undefined> {
  const file = await directory.openFile(ruleFile).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    return (await readWhole(file, ruleFile, maxRuleBytes)).toString("utf8");
  } catch {
    return undefined;
  } finally {
    await file.handle.close();
  }
}

/** A rule of a directory as a rule of the workspace. */
function fromWorkspace(line: string, directory: string): string {
  if (line.trim() === "" || line.startsWith("#")) return "";
  const isNegative = line.startsWith("!");
  const rule = (isNegative ? line.slice(1) : line).replace(/^\\(?=[!#])/, "");
  // With a slash at its start or inside it means this directory; without, everything below.
  const isAnchored = rule.trimEnd().slice(0, -1).includes("/");
  const start = `${isNegative ? "!" : ""}/${literal(directory)}/`;
  return isAnchored ? start + rule.replace(/^\//, "") : `${start}**/${rule}`;
}

const literal = (path: string): string => path.replace(/[\\*?[\]{}!# ]/g, "\\$&");
