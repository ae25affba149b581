// Summaries (T5): one line for a person, whoever wrote it. What could break a terminal, hide text or turn it around is
// taken out, and the cut falls between characters as people see them.
import { ToolCallOutcome } from "../../gen/heddle/v1/tool_call_pb.js";
import { limits } from "./limits.js";

/**
 * How far into a text a summary looks, for each unit it may have. The rest is never read, so that a megabyte costs no
 * more than a page; a text that is longer counts as cut.
 */
const unitsLookedAt = 16;

const ellipsis = "…";

/**
 * The text as a summary: one line, at most `maxUnits` UTF-16 units with the ellipsis, cut on a grapheme border.
 * Idempotent. Empty when there is nothing to see.
 *
 * `redact` is given the line after hidden characters are gone and before it is cut: a colour code inside a secret, or
 * a cut through it, would hide it from a redactor that looks earlier or later.
 */
export function cleanSummary(
  text: string,
  maxUnits: number = limits.summaryUnits,
  redact: (line: string) => string = (line) => line,
): string {
  if (text === "") return "";
  // Most lines are clean: one look instead of nine passes.
  if (text.length <= maxUnits && plainLine.test(text) && redact(text) === text) return text;
  const window = maxUnits * unitsLookedAt;
  const seen = cleanLine(text.length > window ? wholeCodePoints(text.slice(0, window)) : text);
  const redacted = redact(seen);
  const line = redacted === seen ? seen : cleanLine(redacted);
  const trimmed = line.trimEnd();
  if (trimmed === "" || maxUnits < 1) return "";
  if (text.length <= window && trimmed.length <= maxUnits) return trimmed;
  return cutToGraphemes(line, maxUnits - ellipsis.length) + ellipsis;
}

/** What is said of a call that ended, when its writer gives no summary. */
export function outcomeWords(outcome: ToolCallOutcome): string {
  // A newer writer may store an outcome that this version does not know.
  return wordsByOutcome[outcome] ?? "Ended";
}

const wordsByOutcome: Record<ToolCallOutcome, string> = {
  [ToolCallOutcome.UNSPECIFIED]: "Failed",
  [ToolCallOutcome.SUCCEEDED]: "Done",
  [ToolCallOutcome.FAILED]: "Failed",
  [ToolCallOutcome.DENIED]: "Denied",
  [ToolCallOutcome.CANCELLED]: "Cancelled",
  [ToolCallOutcome.TIMED_OUT]: "Timed out",
  [ToolCallOutcome.REJECTED]: "Not run: the call was rejected",
  [ToolCallOutcome.DISCARDED]: "Discarded",
  [ToolCallOutcome.INTERRUPTED]: "Interrupted: the outcome is not known",
};

/** One line without anything forbidden, not trimmed at its end: a space there says that the last word is whole. */
function cleanLine(text: string): string {
  return text
    .replace(terminalSequence, "")
    .replace(loneSurrogate, "\uFFFD")
    .replace(lineBreak, " ")
    .replace(forbidden, "")
    .replace(/\s/g, " ")
    .replace(strayVariationSelector, "")
    .replace(strayJoiner, "")
    .replace(/ {2,}/g, " ")
    .trimStart();
}

/** Visible ASCII with single spaces inside: nothing to clean. */
const plainLine = /^[!-~]+(?: [!-~]+)*$/;

// ECMA-48: CSI with its parameters; OSC, DCS, SOS, PM and APC with their strings; then every other escape. One that is cut
// off is taken out as far as it goes.
export const terminalSequence =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]?/g;

const loneSurrogate = /\p{Surrogate}/gu;

const lineBreak = /[\t-\r\x85\u2028\u2029]+/g;

// Controls, interlinear annotations, and all that is invisible by default: bidi controls, zero-width characters, fillers,
// tags. Variation selectors and joiners are invisible too, but have work to do in their place: the next two patterns.
const forbidden = /\p{Cc}|[\uFFF9-\uFFFB]|(?!\u200C|\u200D|\p{Variation_Selector})\p{Default_Ignorable_Code_Point}/gu;

// A selector belongs directly behind what it varies. Chains of them can carry a hidden text.
const strayVariationSelector = /(?<=^| |\u200C|\u200D|\p{Variation_Selector})\p{Variation_Selector}+/gu;

// A joiner belongs inside an emoji sequence, or between letters of a script that is shaped by it.
const shaped =
  "\\p{scx=Arab}\\p{scx=Beng}\\p{scx=Deva}\\p{scx=Gujr}\\p{scx=Guru}\\p{scx=Khmr}\\p{scx=Knda}\\p{scx=Mlym}\\p{scx=Mong}\\p{scx=Orya}\\p{scx=Sinh}\\p{scx=Syrc}\\p{scx=Taml}\\p{scx=Telu}";
const pictograph = "\\p{Extended_Pictographic}";
const strayJoiner = new RegExp(
  [
    `(?<!${pictograph}[\\uFE0F\\p{Emoji_Modifier}]?|[${shaped}])\\u200D`,
    `(?<=${pictograph}[\\uFE0F\\p{Emoji_Modifier}]?)\\u200D(?!${pictograph})`,
    `(?<=[${shaped}])\\u200D(?![${shaped}])`,
    `(?<![${shaped}])\\u200C`,
    `\\u200C(?![${shaped}])`,
  ].join("|"),
  "gu",
);

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** As many whole graphemes as fit; the last one is left out even when it fits, for it may go on beyond what was read. */
function cutToGraphemes(line: string, maxUnits: number): string {
  const end = graphemes.segment(line).containing(Math.min(maxUnits, line.length - 1))?.index ?? 0;
  // A non-joiner is the end of its grapheme, but has no work to do before an ellipsis.
  return line.slice(0, end).replace(/(?: |\u200C|\u200D)+$/, "");
}

const wholeCodePoints = (text: string): string => text.replace(/[\uD800-\uDBFF]$/, "");
