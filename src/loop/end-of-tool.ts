// What a call ends as when its tool returns or throws. Tools are other people's code, and types are gone by now: whatever one
// gives is its own failure at most, never the run's.
import { mediaType as mediaTypeShape } from "../recorder/contents.js";
import { ToolCallOutcome } from "../thread/schema.js";
import { cleanSummary } from "../thread/summary.js";
import { checkOutput } from "../tool/check-output.js";
import { knownExitCode } from "../tool/exit-code.js";
import { type FailureEnding, type ToolContent, type ToolDefinition, ToolFailure } from "../tool/tool.js";
import type { CallEnd } from "./record-end.js";
import { toolWords } from "./tool-words.js";

export function endOfReturned(tool: ToolDefinition, outcome: unknown): CallEnd {
  try {
    return isObject(outcome) ? endOfOutcome(tool, outcome) : malformed("it must be an object with result and summary");
  } catch {
    return malformed("it cannot be read");
  }
}

function endOfOutcome(tool: ToolDefinition, outcome: Readonly<Record<string, unknown>>): CallEnd {
  const checked = checkOutput(tool, outcome["result"]);
  if (!checked.ok) return malformed(checked.message);
  const json = asJson(checked.result);
  if (json === undefined) return malformed("it cannot be written as JSON");
  const summary = typeof outcome["summary"] === "string" ? outcome["summary"] : "";
  const exitCode = knownExitCode(outcome["exitCode"] as number | undefined);
  const isError = Boolean(outcome["isError"]);
  return {
    outcome: isError ? ToolCallOutcome.FAILED : ToolCallOutcome.SUCCEEDED,
    summary,
    error: isError ? { kind: errorKind(outcome), message: cleanSummary(summary) || wordless } : undefined,
    resultJson: json,
    modelText: toolWords(() => tool.toModel?.(checked.result)) ?? json,
    stopIteration: Boolean(outcome["stopIteration"]),
    content: partsOf(outcome["content"]),
    locations: placesOf(outcome["locations"]),
    exitCode,
  };
}

const errorKind = (outcome: Readonly<Record<string, unknown>>): string =>
  cleanSummary(String(outcome["errorKind"] ?? "")) || unforeseen.kind;

const wordless = "The tool failed without a word";

export function endOfThrown(error: unknown): CallEnd {
  const { message, code, kind, ending, isForeseen } = thrown(error);
  return {
    outcome: outcomes[ending] ?? ToolCallOutcome.FAILED,
    summary: isForeseen ? message : `Failed: ${message}`,
    error: { kind, code, message },
    modelText: `The tool failed: ${message}`,
  };
}

const outcomes: Readonly<Record<FailureEnding, ToolCallOutcome>> = {
  failed: ToolCallOutcome.FAILED,
  interrupted: ToolCallOutcome.INTERRUPTED,
  timed_out: ToolCallOutcome.TIMED_OUT,
};

/** What is read of an error's message. */
const thrownUnits = 16 * 1024;

interface Thrown {
  readonly message: string;
  readonly code: string;
  readonly kind: string;
  readonly ending: FailureEnding;
  readonly isForeseen: boolean;
}

const unforeseen = { code: "", kind: "tool_error", ending: "failed", isForeseen: false } as const;

function thrown(error: unknown): Thrown {
  try {
    const isForeseen = error instanceof ToolFailure;
    const words: unknown = isObject(error) && "message" in error ? error["message"] : String(error ?? "");
    const message = typeof words === "string" && cleanSummary(words) !== "" ? words.slice(0, thrownUnits) : wordless;
    if (!isForeseen) return { message, ...unforeseen };
    // One of an older copy of the class knows neither kind nor ending.
    const { code, kind = unforeseen.kind, ending = unforeseen.ending } = error as Partial<ToolFailure>;
    return { message, code: String(code), kind: cleanSummary(String(kind)), ending, isForeseen };
  } catch {
    return { message: wordless, ...unforeseen };
  }
}

function malformed(words: string): CallEnd {
  const message = `The tool gave a result that does not fit its own description: ${words}`;
  return {
    outcome: ToolCallOutcome.FAILED,
    summary: "Failed: the tool's result is malformed",
    error: { kind: "invalid_output", message },
    modelText: message,
  };
}

/** Undefined for what JSON cannot hold: a cycle, a bigint. */
function asJson(result: unknown): string | undefined {
  try {
    return JSON.stringify(result) ?? "null";
  } catch {
    return undefined;
  }
}

/** What is no part is left out. One whose media type cannot be stored is kept as plain text or bytes. */
function partsOf(content: unknown): ToolContent[] {
  if (!Array.isArray(content)) return [];
  return content.filter(isObject).flatMap(({ id, mediaType, data }) => {
    if (typeof data !== "string" && !(data instanceof Uint8Array)) return [];
    const isKnown = typeof mediaType === "string" && mediaTypeShape.test(mediaType);
    const fallback = typeof data === "string" ? "text/plain" : "application/octet-stream";
    return [{ id: typeof id === "string" ? id : "", mediaType: isKnown ? mediaType : fallback, data }];
  });
}

const lines = 2 ** 32;

/** A line that is none means the whole file. */
function placesOf(locations: unknown): NonNullable<CallEnd["locations"]> {
  if (!Array.isArray(locations)) return [];
  return locations.filter(isObject).flatMap(({ path, line }) => {
    if (typeof path !== "string") return [];
    return [{ path, line: Number.isInteger(line) && Number(line) >= 0 && Number(line) < lines ? Number(line) : 0 }];
  });
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;
