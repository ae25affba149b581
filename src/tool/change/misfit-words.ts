// Why a hunk does not fit, and what to do next: half a sentence.
import { oneLine } from "../words.js";
import type { Misfit } from "./apply-hunks.js";

const shownUnits = 80;
const again = "read the file again and make the patch anew";

export function misfitWords(why: Misfit): string {
  switch (why.kind) {
    case "differs":
      return `does not match: ${differenceWords(why)}; ${again}`;
    case "many":
      return `fits in several places (lines ${why.lines.join(", ")}); give the right line number, or more lines around it`;
    case "beyond_end":
      return `is beyond the end: the file has ${why.lines} lines; ${again}`;
    case "too_long":
      return "is not where it says, like many before it; give the right line numbers";
  }
}

function differenceWords({ line, found, wanted }: Extract<Misfit, { kind: "differs" }>): string {
  if (found === undefined) return `there is no line ${line} that is ${quoted(wanted)}`;
  if (`${found}\n` === wanted)
    return `line ${line} is the last one and has no line break, which "\\ No newline at end of file" says`;
  if (found === `${wanted}\n`) return `line ${line} does end with a line break`;
  if (bare(found) === bare(wanted)) return `line ${line} differs in white space from ${quoted(wanted)}`;
  return `line ${line} is ${quoted(found)}, not ${quoted(wanted)}`;
}

const bare = (line: string): string => line.replace(/\s+/g, "");
const quoted = (line: string): string => `"${oneLine(line.slice(0, shownUnits))}"`;
