// From the text that a model wrote to the input that a tool is given. The text may be anything: what comes out is an input that
// fits the tool's schema, or one line that says what to write instead. Nothing of the text itself is quoted but field names.
import type { z } from "zod";
import { fitsUtf8 } from "../thread/text.js";
import { checkAgainst } from "./issue-words.js";
import { findJsonProblem } from "./json-problem.js";
import type { ToolDefinition } from "./tool.js";

export type CheckedInput<Input = unknown> =
  | { readonly ok: true; readonly input: Input }
  | { readonly ok: false; readonly kind: "invalid_json" | "invalid_input"; readonly message: string };

export const inputLimits = {
  bytes: 32 * 1024 * 1024,
  /** Lists and objects inside one another. Whatever walks the input by recursion is safe within it. */
  depth: 128,
  /** Members and items. A schema may object to each of them, and each objection takes memory. */
  values: 250_000,
} as const;

/** Contract: never throws, whatever the text. Providers send nothing for tools without parameters: no text counts as `{}`. */
export function checkInput<Input extends z.ZodType>(
  tool: Pick<ToolDefinition<Input>, "input">,
  text: string,
): CheckedInput<z.output<Input>> {
  const beyond = beyondLimits(text);
  if (beyond !== undefined) return { ok: false, kind: "invalid_input", message: beyond };
  const parsed = parse(text);
  if ("problem" in parsed) return { ok: false, kind: "invalid_json", message: parsed.problem };
  if (parsed.hasForbiddenKey) return { ok: false, kind: "invalid_input", message: forbiddenKeyWords };
  const checked = checkAgainst(tool.input, parsed.value, "The input");
  return checked.ok
    ? { ok: true, input: checked.value }
    : { ok: false, kind: "invalid_input", message: checked.message };
}

function beyondLimits(text: string): string | undefined {
  if (!fitsUtf8(text, inputLimits.bytes))
    return `The input: must have at most ${inputLimits.bytes} bytes; send less, or in several calls`;
  const { depth, values } = measure(text);
  if (depth > inputLimits.depth)
    return `The input: must have at most ${inputLimits.depth} levels of lists and objects; make it flatter`;
  if (values > inputLimits.values)
    return `The input: must have at most ${inputLimits.values} values; send less, or in several calls`;
  return undefined;
}

/** How deep the text nests, and how many values it may hold. Before it is parsed: deep nesting alone can use up all memory. */
function measure(text: string): { depth: number; values: number } {
  let depth = 0;
  let deepest = 0;
  let values = 1;
  let isInText = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isInText) {
      if (code === backslash) at++;
      else if (code === quote) isInText = false;
    } else if (code === quote) isInText = true;
    else if (code === comma) values++;
    else if (code === openBracket || code === openBrace) {
      values++;
      deepest = Math.max(deepest, ++depth);
    } else if (code === closeBracket || code === closeBrace) depth--;
  }
  return { depth: deepest, values };
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

type Parsed = { readonly value: unknown; readonly hasForbiddenKey: boolean } | { readonly problem: string };

function parse(text: string): Parsed {
  if (text.trim() === "") return { value: {}, hasForbiddenKey: false };
  try {
    if (!mayHoldForbiddenKey(text)) return { value: JSON.parse(text), hasForbiddenKey: false };
    let hasForbiddenKey = false;
    const value: unknown = JSON.parse(text, (key, member: unknown) => {
      hasForbiddenKey ||= key === forbiddenKey;
      return member;
    });
    return { value, hasForbiddenKey };
  } catch {
    return { problem: jsonProblemWords(text) };
  }
}

/** A tool that copies its input member by member would give its copy another prototype. No tool has a use for the name. */
const forbiddenKey = "__proto__";
const forbiddenKeyWords = `The input: must have no field called "${forbiddenKey}"; leave it out`;

/** Any of its characters may be written as an escape. Looking at every key is slower than parsing: it is done where it must. */
const mayHoldForbiddenKey = (text: string): boolean => text.includes(forbiddenKey) || text.includes("\\u00");

function jsonProblemWords(text: string): string {
  const problem = findJsonProblem(text);
  if (problem === undefined) return "The input is not JSON; send one JSON object";
  const { line, column, expected, found } = problem;
  return `The input is not JSON at line ${line}, column ${column}: expected ${expected}, found ${found}; send one JSON object`;
}
