// What may be said of something that other people's code has thrown: its type, its words and where they come from. The rest of it is
// left alone: what hangs on an error may be a secret, as the headers of a request are, and reading it may throw once more.
import { inspect, types } from "node:util";
import { createRedactor } from "../thread/redact.js";

export interface Thrown {
  readonly type: string;
  /** Those of its causes stand behind it. */
  readonly message: string;
  /** Undefined where it is no error. */
  readonly stack?: string;
}

const unreadable = "(it cannot be read)";
const redactor = createRedactor({ secrets: [] });

/** Never throws. */
export function thrownOf(reason: unknown): Thrown {
  const errors = errorsIn(reason);
  const [first] = errors;
  if (first === undefined) return { type: typeof reason, message: read(() => wordsOf(reason)) };
  return {
    type: read(() => first.constructor.name),
    message: errors.map((error) => read(() => error.message)).join(": "),
    stack: errors.map((error) => read(() => error.stack)).join("\ncaused by: "),
  };
}

/** The error and its causes, as far as they can be read. */
function errorsIn(reason: unknown): readonly Error[] {
  const errors: Error[] = [];
  try {
    for (let next = reason; next instanceof Error && !errors.includes(next); next = next.cause) errors.push(next);
  } catch {
    return errors;
  }
  return errors;
}

function read(value: () => unknown): string {
  try {
    return redactor.text(String(value() ?? ""));
  } catch {
    return unreadable;
  }
}

/** Of an object what stands in it itself, and nothing that is deeper. */
function wordsOf(value: unknown): string {
  if (typeof value === "string") return value;
  return types.isProxy(value)
    ? unreadable
    : inspect(value, { depth: 0, breakLength: Number.POSITIVE_INFINITY, customInspect: false });
}
