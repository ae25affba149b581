// Names inside the workspace that tools read but never change. What Git keeps there (hooks, config) is run or obeyed later,
// outside any sandbox; Heddle's own data is the record of what was done.
import { ToolFailure } from "../tool.js";
import { oneLine } from "../words.js";

const protectedNames = new Set([".git", "git~1", ".heddle"]);

/** Throws a ToolFailure when one of the names is protected: a hard word, for no other path leads there. */
export function refuseProtected(path: string, names: readonly string[]): void {
  const name = names.find(isProtected);
  if (name === undefined) return;
  throw new ToolFailure(
    `Protected: ${oneLine(path)} is inside ${oneLine(name)}, which tools do not change; leave it as it is`,
    {
      code: "EPERM",
    },
  );
}

/** Also as file systems may read it that ignore case, invisible characters, a dot or space at the end, or a stream's name. */
export const isProtected = (name: string): boolean =>
  protectedNames.has(
    name
      .replace(/\p{Default_Ignorable_Code_Point}|:.*$/gsu, "")
      .replace(/[. ]+$/, "")
      .toLowerCase(),
  );
