// Finds the headings of Markdown among lines: `# Title`, and a line that is underlined with `===` or `---`. What stands in a
// fenced block is code.
import { cleanSummary } from "../../thread/summary.js";

export interface HeadingLine {
  /** 1 is the outermost. */
  readonly level: number;
  readonly title: string;
  /** The line below belongs to it. */
  readonly isUnderlined: boolean;
}

const titleUnits = 200;

/** By the index of their (first) line. */
export function headingLines(lines: readonly string[]): Map<number, HeadingLine> {
  const found = new Map<number, HeadingLine>();
  let fence = "";
  lines.forEach((line, index) => {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
    if (fence !== "") {
      if (mark.startsWith(fence) && line.trim() === mark) fence = "";
    } else if (mark !== "") fence = mark;
    else {
      const heading = hashed(line) ?? underlined(line, lines[index + 1] ?? "", lines[index - 1] ?? "");
      if (heading !== undefined && heading.title !== "") found.set(index, heading);
    }
  });
  return found;
}

function hashed(line: string): HeadingLine | undefined {
  const marks = /^ {0,3}(#{1,6})(?=[ \t])/.exec(line);
  if (marks === null) return undefined;
  const title = line.slice(marks[0].length).trimEnd();
  return { level: marks[1]!.length, title: clean(title.replace(/(?<=[ \t])#+$/, "")), isUnderlined: false };
}

/** Only one line, with a blank one above: more would be a paragraph, a table or a list. */
function underlined(line: string, below: string, above: string): HeadingLine | undefined {
  if (above.trim() !== "" || !/^ {0,3}[^\s#>|*+-]/.test(line)) return undefined;
  const mark = /^ {0,3}(={2,}|-{2,})[ \t]*$/.exec(below)?.[1];
  if (mark === undefined) return undefined;
  return { level: mark.startsWith("=") ? 1 : 2, title: clean(line), isUnderlined: true };
}

/** Emphasis, code marks and the target of a link are no part of a title. */
const clean = (title: string): string =>
  cleanSummary(
    title
      .slice(0, 4 * titleUnits)
      .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replace(/[*`]/g, ""),
    titleUnits,
  );
