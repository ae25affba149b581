// A change of one file as a unified diff with git's headers: what a person sees before a yes, and what is kept of the change.
import { createHash } from "node:crypto";
import { counted } from "../words.js";
import type { Comparison } from "./compare-texts.js";
import { quoteName } from "./file-name.js";
import { countSigned, type Hunk } from "./hunk.js";

export interface FileDiff {
  /** Undefined: the file is new. */
  readonly from: string | undefined;
  /** Undefined: the file is deleted. */
  readonly to: string | undefined;
  readonly comparison: Comparison;
  /** The whole new text. A diff that is only told in words names it by its hash: another text gives another preview. */
  readonly after: string;
  readonly isExecutable?: boolean;
}

export function formatDiff({ from, to, comparison, after, isExecutable = false }: FileDiff): string {
  const mode = isExecutable ? "100755" : "100644";
  const head = [
    `diff --git ${quoteName(`a/${from ?? to}`)} ${quoteName(`b/${to ?? from}`)}`,
    ...(from === undefined ? [`new file mode ${mode}`] : []),
    ...(to === undefined ? [`deleted file mode ${mode}`] : []),
    ...(from !== undefined && to !== undefined && from !== to
      ? [`rename from ${quoteName(from)}`, `rename to ${quoteName(to)}`]
      : []),
  ].join("\n");
  if (comparison.hunks?.length === 0) return `${head}\n`;
  const names = [
    `--- ${from === undefined ? "/dev/null" : quoteName(`a/${from}`)}`,
    `+++ ${to === undefined ? "/dev/null" : quoteName(`b/${to}`)}`,
  ].join("\n");
  const body = comparison.hunks?.map(formatHunk).join("") ?? inWords(comparison, after);
  return `${head}\n${names}\n${body}`;
}

function inWords({ added, removed }: Comparison, after: string): string {
  const hash = createHash("sha256").update(after).digest("hex");
  const change = `${counted(removed, "line", "lines")} out, ${counted(added, "line", "lines")} in`;
  return `The change is too large to show: ${change}. SHA-256 of the new text: ${hash}\n`;
}

function formatHunk({ oldStart, newStart, lines }: Hunk): string {
  const oldLines = countSigned(lines, " ", "-");
  const newLines = countSigned(lines, " ", "+");
  const body = lines.map(({ sign, text }) =>
    text.endsWith("\n") ? sign + text : `${sign}${text}\n\\ No newline at end of file\n`,
  );
  return `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@\n${body.join("")}`;
}
