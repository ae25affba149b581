// What may be said of something that other people's code has thrown: its type, its words and where they come from. The rest of it is
// left alone: what hangs on it may be a secret, as the headers of a request are, and reading it may throw once more.
import { clip } from "./terminal.js";

export interface Thrown {
  readonly type: string;
  /** Those of its causes stand behind it. */
  readonly message: string;
  /** Undefined where it is no error. */
  readonly stack?: string;
}

/** A chain of causes may be endless, and a text as long as whatever failed. */
const most = { causes: 8, units: 16 * 1024 } as const;
const unreadable = "(it cannot be read)";

/** Never throws. */
export function thrownOf(reason: unknown, redact: (text: string) => string): Thrown {
  const read = (value: () => unknown): string => {
    try {
      // A secret that this cuts in two is behind what is shown.
      return clip(redact(String(value() ?? "").slice(0, 2 * most.units)), most.units);
    } catch {
      return unreadable;
    }
  };
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
    for (let next = reason; next instanceof Error && errors.length < most.causes; next = next.cause) {
      if (errors.includes(next)) break;
      errors.push(next);
    }
  } catch {
    return errors;
  }
  return errors;
}

/** Where objects that are no errors have their words. */
const wordy = ["name", "code", "status", "message", "details"] as const;

/** Of an object only what is known to be words or a number. */
function wordsOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  const said = wordy.map((name) => (value as Record<string, unknown>)[name]).filter(isWord);
  return said.length > 0 ? said.join(", ") : "an object";
}

const isWord = (value: unknown): boolean => typeof value === "string" || typeof value === "number";
