// Patterns of paths, as models write them.
import picomatch from "picomatch";
import { ToolFailure } from "../tool.js";
import { oneLine } from "../words.js";

export const maxPatternUnits = 1_000;

/**
 * Whether a path is meant, from the directory that the search starts in. With `basename`, a pattern without a slash is about
 * names, wherever they are. Throws a ToolFailure for what is no pattern.
 */
export function compileGlob(pattern: string, { basename = false } = {}): (path: string) => boolean {
  const problem = problemOf(pattern);
  if (problem !== undefined) throw invalid(pattern, problem);
  try {
    return picomatch(pattern, {
      dot: true,
      // Only for these: else a whole path would be taken for a name.
      basename: basename && !pattern.includes("/"),
      strictBrackets: true,
      strictSlashes: true,
      maxLength: maxPatternUnits,
    });
  } catch (reason) {
    throw invalid(pattern, reason instanceof Error ? reason.message : "it cannot be read");
  }
}

function problemOf(pattern: string): string | undefined {
  if (pattern.trim() === "") return "it is empty";
  if (pattern.includes("\0")) return "it holds a NUL character";
  if (pattern.startsWith("/")) return "it starts with a slash, and is matched from the directory that is searched";
  if (/(?:^|\/)\.\.(?:\/|$)/.test(pattern)) return "it holds .., and nothing above the directory is searched";
  return undefined;
}

const invalid = (pattern: string, problem: string): ToolFailure =>
  new ToolFailure(`Invalid pattern: ${oneLine(pattern)} (${oneLine(problem)}); write one such as src/**/*.ts`, {
    code: "EINVAL",
  });
