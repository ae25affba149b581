// A change of one file's text, worked out and not yet made: a preview shows it, a run makes it.
import { z } from "zod";
import { limits } from "../../thread/limits.js";
import type { Preview, ToolContent, ToolOutcome } from "../tool.js";
import { oneLine } from "../words.js";
import type { Place, Workspace } from "../workspace/workspace.js";
import { type Comparison, compareTexts } from "./compare-texts.js";
import { formatDiff } from "./format-diff.js";

export const pathInput = z.string().min(1).max(limits.pathUnits);
/** A text that a file can hold as it is: whole characters, and nothing that makes it binary. */
export const fileText = z
  .string()
  .refine((text) => !/[\p{Cs}\0]/u.test(text), "must be text: without NUL characters and halves of characters");

export interface TextChange {
  readonly place: Place;
  /** Undefined: the file is new. */
  readonly before: string | undefined;
  readonly after: string;
  readonly comparison: Comparison;
  readonly diff: string;
}

export function textChange({ place, before, after }: Pick<TextChange, "place" | "before" | "after">): TextChange {
  const comparison = compareTexts(before ?? "", after);
  const from = before === undefined ? undefined : place.relative;
  return { place, before, after, comparison, diff: formatDiff({ from, to: place.relative, comparison, after }) };
}

export const isChange = ({ before, after }: TextChange): boolean => before !== after;

/** Nothing is written where nothing changes. */
export async function makeChange(workspace: Workspace, path: string, change: TextChange): Promise<void> {
  if (!isChange(change)) return;
  const expect = change.before === undefined ? "new" : "existing";
  await workspace.writeFile(path, change.after, { makeParents: true, expect });
}

export const previewOf = (change: TextChange): Preview =>
  isChange(change) ? diffPreview(change.diff) : wordPreview(`${named(change.place.relative)} stays as it is`);

export const diffPreview = (diff: string): Preview => ({ mediaType: diffMediaType, data: diff });
export const wordPreview = (words: string): Preview => ({ mediaType: "text/plain", data: `${words}\n` });

/** What belongs to every outcome of a change. */
export const tracesOf = (change: TextChange): Pick<ToolOutcome<never>, "content" | "locations"> => ({
  ...(isChange(change) && { content: [diffContent(change.diff)] }),
  locations: [locationOf(change)],
});

export const diffContent = (diff: string): ToolContent => ({ id: "diff", mediaType: diffMediaType, data: diff });

export const locationOf = ({ place, comparison: { firstLine } }: Pick<TextChange, "place" | "comparison">) =>
  firstLine === undefined ? { path: place.absolute } : { path: place.absolute, line: firstLine };

const diffMediaType = "text/x-diff";

/** `+4 −2` */
export const sumWords = ({ added, removed }: { added: number; removed: number }): string => `+${added} −${removed}`;

/** A path as people read it: one line, and never nothing. */
export const named = (path: string): string => oneLine(path) || "a file without a name";
