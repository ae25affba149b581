// The exact replacement of a piece of text. It must stand in the text exactly once, unless every place is meant.
import { ToolFailure } from "../tool.js";
import { counted } from "../words.js";
import { asSeen, withPlainEnds } from "./as-seen.js";
import { bounds } from "./bounds.js";
import { missHint } from "./miss-hint.js";

export interface Replacement {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
}

export interface Replaced {
  readonly text: string;
  readonly replacements: number;
}

/** Of several places, how many are told. */
const toldPlaces = 5;

/** Line ends and byte-order mark stay as they are. `name` is the file's, for words. */
export function replaceText(whole: string, { oldText, newText, replaceAll }: Replacement, name: string): Replaced {
  const seen = asSeen(whole);
  const [before, after] = seen.isWindows ? [withPlainEnds(oldText), withPlainEnds(newText)] : [oldText, newText];
  if (before === after) throw failed("EINVAL", `Nothing to change in ${name}: old_text and new_text are the same`);
  const first = seen.text.indexOf(before);
  if (first === -1) throw failed("NO_MATCH", `Text not found in ${name}; ${missHint(seen.text, before)}`);
  if (!replaceAll) refuseSecond(seen.text, before, name);
  const pieces = replaceAll
    ? seen.text.split(before)
    : [seen.text.slice(0, first), seen.text.slice(first + before.length)];
  const replacements = pieces.length - 1;
  const units = seen.text.length + replacements * (after.length - before.length);
  if (units > bounds.editedBytes) throw failed("EFBIG", `${name} would become too large; replace less of it`);
  return { text: seen.restored(pieces.join(after)), replacements };
}

function refuseSecond(text: string, before: string, name: string): void {
  // One place may begin inside another: "aa" stands twice in "aaa".
  const places: number[] = [];
  for (let at = text.indexOf(before); at !== -1 && places.length <= toldPlaces; at = text.indexOf(before, at + 1))
    places.push(at);
  if (places.length === 1) return;
  const isMore = places.length > toldPlaces;
  const lines = places.slice(0, toldPlaces).map((at) => lineAt(text, at));
  const count = isMore ? `more than ${toldPlaces} times` : counted(places.length, "time", "times");
  const where = [...new Set(lines)].join(", ");
  throw failed(
    "MANY_MATCHES",
    `Text found ${count} in ${name} (from line ${where}${isMore ? ", …" : ""}); give more of the text around it, or set replace_all`,
  );
}

/** From 1. */
function lineAt(text: string, at: number): number {
  let line = 1;
  for (let end = text.indexOf("\n"); end !== -1 && end < at; end = text.indexOf("\n", end + 1)) line++;
  return line;
}

const failed = (code: string, message: string): ToolFailure => new ToolFailure(message, { code });
