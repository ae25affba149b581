// Reads a script and checks it before anything is played: a mistake is told with the file, the place in it and the rule.
import { readFileSync } from "node:fs";
import { HeddleError } from "../thread/errors.js";
import { cleanSummary } from "../thread/summary.js";
import type { EndReason } from "./model.js";
import { failureWords, type Script } from "./script.js";

/** What a script may hold. */
export const scriptLimits = {
  fileBytes: 16 * 1024 * 1024,
  chunkUnits: 1_000_000,
  delayMs: 600_000,
  index: 9_999,
} as const;

/** Fails with `invalid_config` unless the file holds a script. */
export function readScript(path: string): Script {
  const script = parse(readText(path), path);
  checkScript(script, path);
  return { ...script, name: path };
}

/** Fails with `invalid_config` at the first thing that is not as script.ts says. `source` is what the message calls it. */
export function checkScript(value: unknown, source: string): asserts value is Script {
  script(value, { source, path: "" });
}

function readText(path: string): string {
  try {
    const bytes = readFileSync(path);
    if (bytes.length <= scriptLimits.fileBytes) return bytes.toString("utf8").replace(/^\uFEFF/, "");
  } catch (reason) {
    const { code } = reason as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "there is no such file" : `it cannot be read (${code ?? "unknown error"})`;
    throw invalid({ source: path, path: "" }, `${why}; give the path of a script, a JSON file`, reason);
  }
  throw invalid({ source: path, path: "" }, `must be at most ${scriptLimits.fileBytes} bytes`);
}

function parse(json: string, path: string): object {
  try {
    return JSON.parse(json);
  } catch (reason) {
    const message = (reason as SyntaxError).message;
    const offset = /at position (\d+)/.exec(message)?.[1];
    const before = json.slice(0, Number(offset ?? 0)).split("\n");
    const source = offset === undefined ? path : `${path}:${before.length}:${before.at(-1)!.length + 1}`;
    throw invalid({ source, path: "" }, `this is not JSON: ${cleanSummary(message)}`, reason);
  }
}

/** Where a value stands. */
interface Place {
  readonly source: string;
  readonly path: string;
}

type Check = (value: unknown, at: Place) => void;

const inside = (at: Place, key: string | number): Place => ({
  ...at,
  path: typeof key === "number" ? `${at.path}[${key}]` : at.path === "" ? key : `${at.path}.${key}`,
});

const invalid = ({ source, path }: Place, rule: string, cause?: unknown): HeddleError =>
  new HeddleError("invalid_config", path === "" ? `${source}: ${rule}` : `${source}: ${path} ${rule}`, {
    detail: { field: path },
    cause,
  });

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const text: Check = (value, at) => {
  if (typeof value !== "string") throw invalid(at, "must be a text");
};

const words: Check = (value, at) => {
  if (typeof value !== "string" || value === "") throw invalid(at, "must be a text that is not empty");
};

const whole =
  (min: number, max: number): Check =>
  (value, at) => {
    if (!Number.isInteger(value) || (value as number) < min || (value as number) > max)
      throw invalid(at, `must be a whole number from ${min} to ${max}`);
  };

const oneOf =
  (...allowed: readonly unknown[]): Check =>
  (value, at) => {
    if (!allowed.includes(value))
      throw invalid(at, `must be ${allowed.map((one) => JSON.stringify(one)).join(" or ")}`);
  };

const list =
  (item: Check, what: string): Check =>
  (value, at) => {
    if (!Array.isArray(value)) throw invalid(at, `must be a list of ${what}`);
    for (const [index, entry] of value.entries()) item(entry, inside(at, index));
  };

const filled =
  (check: Check): Check =>
  (value, at) => {
    check(value, at);
    if ((value as unknown[]).length === 0) throw invalid(at, "must not be empty");
  };

/** A key that ends with `!` must be there. */
const object =
  (keys: Readonly<Record<string, Check>>): Check =>
  (value, at) => {
    if (!isObject(value)) throw invalid(at, "must be an object");
    const checks = new Map(Object.entries(keys).map(([key, check]) => [key.replace("!", ""), check]));
    for (const key of Object.keys(value)) {
      if (!checks.has(key))
        throw invalid(inside(at, key), `is not a known key; known here: ${[...checks.keys()].join(", ")}`);
    }
    for (const [key, check] of checks) {
      if (value[key] !== undefined) check(value[key], inside(at, key));
      else if (`${key}!` in keys) throw invalid(inside(at, key), "is missing");
    }
  };

/** An object with exactly one of the keys given. */
const either =
  (first: string, second: string, check: Check): Check =>
  (value, at) => {
    check(value, at);
    const { [first]: one, [second]: other } = value as Record<string, unknown>;
    if ((one === undefined) === (other === undefined)) throw invalid(at, `must have either ${first} or ${second}`);
  };

const match: Check = (value, at) => {
  if (typeof value === "string") words(value, at);
  else if (isObject(value)) object({ "exact!": text })(value, at);
  else throw invalid(at, 'must be a text to look for, "*" for any, or { "exact": "the whole text" }');
};

const tokens = whole(0, 1_000_000_000_000);
const endReasons: Record<EndReason, true> = { stop: true, tool_calls: true, truncated: true, filtered: true };

const input: Check = (value, at) => {
  if (typeof value !== "string" && !isObject(value)) throw invalid(at, "must be an object, or raw text");
};

const forms: Readonly<Record<string, Check>> = {
  text,
  reasoning: text,
  refusal: text,
  toolCall: object({ "name!": words, "input!": input, id: words }),
  piece: object({
    "index!": whole(0, scriptLimits.index),
    id: text,
    name: text,
    input: text,
    isLast: oneOf(true, false),
  }),
  usage: object({ inputTokens: tokens, cachedInputTokens: tokens, outputTokens: tokens, reasoningTokens: tokens }),
  delayMs: whole(0, scriptLimits.delayMs),
  end: oneOf(...Object.keys(endReasons)),
  fail: object({
    "kind!": oneOf(...Object.keys(failureWords)),
    message: words,
    retryAfterMs: whole(0, scriptLimits.delayMs),
  }),
  hang: oneOf(true),
};
const lastForms = new Set(["end", "fail", "hang"]);

const event: Check = (value, at) => {
  object(forms)(value, at);
  const keys = Object.keys(value as object);
  if (keys.length !== 1) throw invalid(at, `must have exactly one of: ${Object.keys(forms).join(", ")}`);
};

const events: Check = (value, at) => {
  list(event, "events")(value, at);
  for (const [index, one] of (value as object[]).slice(0, -1).entries()) {
    const key = Object.keys(one)[0]!;
    if (lastForms.has(key)) throw invalid(inside(at, index), `must be the last event: nothing can follow "${key}"`);
  }
};

const chunk = whole(1, scriptLimits.chunkUnits);
const expectation = object({
  lastUser: match,
  lastTool: match,
  tools: list(words, "tool names"),
  toolResults: whole(0, scriptLimits.index),
});
const attempts = filled(list(object({ chunk, "events!": events }), "attempts"));
const reply = either("events", "attempts", object({ comment: text, expect: expectation, chunk, events, attempts }));
const replies = filled(list(reply, "replies"));

const turns: Check = (value, at) => {
  filled(list(object({ comment: text, user: match, "replies!": replies }), "turns"))(value, at);
  const open = (value as { user?: unknown }[]).findIndex(({ user }) => user === undefined || user === "*");
  if (open >= 0 && open < (value as unknown[]).length - 1)
    throw invalid(
      inside(at, open),
      "takes every user message, so that the turns behind it are never played; put it last",
    );
};

const script = either("turns", "replies", object({ comment: text, chunk, turns, replies }));
