// What a tool is: one value that says what it takes, what it gives, what people are told, and how it runs. Its result is data;
// what the model reads and what people read are derived from it.
import type { z } from "zod";
import { definitionProblem } from "./check-definition.js";

/** What sort of thing a tool does: clients choose an icon by it, and policy goes by it (policy.ts). */
export type Kind = "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "other";

/** What a call is busy with. */
export type Phase = "searching" | "interpreting" | "connecting" | "waiting";

/** Whether a call goes ahead by itself, waits for a person's yes, or never runs. */
export type Policy = "allow" | "ask" | "deny";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Where a tool comes from that is neither built in nor an operator's own. */
export type Origin =
  /** Run by an MCP server. `toolName`: as the server itself calls it. */
  | { readonly kind: "mcp"; readonly serverLabel: string; readonly toolName: string }
  /** Run by a client: its calls wait to be claimed. `name`: what the client calls itself; may be empty. */
  | { readonly kind: "client"; readonly name: string };

export interface ToolDefinition<Input extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType> {
  /** As the model knows it: 1 to 64 characters of `a-z 0-9 _ -`. */
  readonly name: string;
  /** As people know it. */
  readonly title: string;
  /** What it does, for the model. */
  readonly description: string;
  readonly kind: Kind;
  /** An object. */
  readonly input: Input;
  readonly output: Output;
  /** JSON Schemas in the words of whoever wrote them. Undefined: made of `input` and `output`. */
  readonly schemas?: { readonly input: JsonSchema; readonly output: JsonSchema };
  /** Undefined: it is built in, or an operator's own. Contract: `run` of a client's tool is never called. */
  readonly origin?: Origin;
  /** Fields of the input whose text people see while the model writes it. */
  readonly textFields?: readonly TextField[];
  /** The longest it may take. Undefined: the configuration's limit. */
  readonly timeoutMs?: number;
  /** Where the configuration says nothing of the tool. Undefined: by its kind (policy.ts). */
  readonly policy?: Policy;
  /** What a call is busy with from its start on. The loop says so, before the tool runs. */
  readonly phase?: Phase;
  /** How what it starts is held in, for operators: one line. Undefined where it starts nothing. */
  readonly isolation?: string;
  /**
   * It looks at what is there, and nothing more: nothing is changed, and nobody outside is asked. Such a call begins before its start is
   * stored; where it is over in a moment, its start and its end are stored together.
   */
  readonly onlyLooks?: boolean;
  /** Each call of it is a run in a child thread: its events name the thread, and it may take that run's time to stop. */
  readonly delegates?: boolean;
  /** What is about to happen, for a person: one line. Contract: pure; a call with this input may never run. */
  describe(input: z.output<Input>): string;
  /**
   * Contract: stops its work soon after the signal is aborted; throws to fail; leaves nothing running behind. What it throws is
   * told to people and to the model: a ToolFailure in its own words, anything else by its message.
   */
  run(input: z.output<Input>, context: ToolContext): Promise<ToolOutcome<z.input<Output>>>;
  /**
   * What a person sees who is asked for a yes, such as a diff; undefined when there is nothing to see. Contract: changes
   * nothing; the same state of the world gives the same bytes; throws a ToolFailure when the call could not succeed, and then
   * nobody is asked.
   */
  preview?(input: z.output<Input>, context: PreviewContext): Promise<Preview | undefined>;
  /** What the model reads. Undefined: the result as JSON. */
  toModel?(result: z.output<Output>): string;
}

export interface TextField {
  /** A field at the top of the input. */
  readonly field: string;
  /** What the text is for: the agent speaks to the user, or it is code that will be run. */
  readonly purpose: "speech" | "code";
}

export interface ToolOutcome<Result> {
  /** Checked against `output`. */
  readonly result: Result;
  /** What came of it, for a person: one line. */
  readonly summary: string;
  /** The result says that it is an error: the call has failed (T4). */
  readonly isError?: boolean;
  /** What sort of failure that is, for programs. Undefined: `tool_error`. */
  readonly errorKind?: string;
  /** Further parts of the result: a picture, a diff, the whole output. */
  readonly content?: readonly ToolContent[];
  readonly locations?: readonly { readonly path: string; readonly line?: number }[];
  /** Undefined where there is none or it is not known; people then read "unknown". */
  readonly exitCode?: number;
  /** The agent's turn ends with this call. */
  readonly stopIteration?: boolean;
}

export interface ToolContent {
  /** Its name within the call: `a-z 0-9 - _ .`. Not `input`, `result` or `model`. */
  readonly id: string;
  readonly mediaType: string;
  readonly data: string | Uint8Array;
}

/** What a person sees before a call. */
export interface Preview {
  readonly mediaType: string;
  readonly data: string;
}

/** Where a preview may look. */
export interface PreviewContext {
  readonly signal: AbortSignal;
  readonly workspace: string | undefined;
}

/** One line of a plan. */
export interface PlanLine {
  readonly content: string;
  readonly status: "pending" | "in_progress" | "completed";
}

/** What a tool is given beside its input. What it reports after its end is dropped. */
export interface ToolContext {
  readonly toolCallId: string;
  readonly threadId: string;
  /** Aborted when the call or the run is called off, time is up, or the server stops. */
  readonly signal: AbortSignal;
  /** The directory that the agent works in. Undefined: it has none. */
  readonly workspace: string | undefined;
  /** How much is done, in the tool's own unit; the total where it is known. */
  progress(completed: number, total?: number, message?: string): void;
  /** What it is busy with. Undefined: nothing in particular any more. */
  phase(phase: Phase | undefined, message?: string): void;
  /** The agent's plan is now this, for everyone who follows the thread. */
  plan(lines: readonly PlanLine[]): void;
  /** What it prints, as it comes. */
  output(stream: "stdout" | "stderr", text: string): void;
}

export type FailureEnding = "failed" | "interrupted" | "timed_out";

const failureMark = Symbol.for("heddle.ToolFailure");

/** A failure that a tool foresees. The message is for people and for the model: one line that says what to do next. */
export class ToolFailure extends Error {
  // An operator's module may bring a copy of this package of its own: `instanceof` goes by the mark, not by the copy.
  readonly [failureMark] = true;

  /** A machine-readable code: errno, an HTTP status. */
  readonly code: string;

  /** What sort of failure it is, for programs. */
  readonly kind: string;

  /** How the call ends. Interrupted: whether it had an effect is not known. */
  readonly ending: FailureEnding;

  constructor(
    message: string,
    options: { code?: string; kind?: string; ending?: FailureEnding; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ToolFailure";
    this.code = options.code ?? "";
    this.kind = options.kind ?? "tool_error";
    this.ending = options.ending ?? "failed";
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: a subclass inherits the method, and goes by its prototype as usual.
    if (this !== ToolFailure) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === "object" && value !== null && failureMark in value;
  }
}

/** Gives a definition its types, and refuses one that could not work with a TypeError that says why. */
export function defineTool<Input extends z.ZodType, Output extends z.ZodType>(
  definition: ToolDefinition<Input, Output>,
): ToolDefinition<Input, Output> {
  const problem = definitionProblem(definition);
  if (problem !== undefined) throw new TypeError(problem);
  return Object.freeze(definition);
}
