// What a running tool says about itself: output as it comes, progress not too often, a sign of life when it is quiet.
// After `close` nothing more is passed on: a tool that goes on talking is not heard (T2).
import { limits } from "../thread/limits.js";
import { OutputStream, PlanEntryStatus, ToolCallPhase } from "../thread/schema.js";
import { utf8Bytes } from "../thread/text.js";
import type { Phase, PlanLine, ToolContext } from "../tool/tool.js";
import type { Scope } from "./scope.js";

/** Progress in between is left out; the last one of a quiet span is not. */
const progressEveryMs = 100;

/** A tool that changes its mind all the time is not heard each time. */
const mostPhaseEnds = 16;

/** Output that is recorded for one call. What comes after it is counted, and said in one line. */
export const outputBoundBytes = 16 * 1024 * 1024;

/** What is said in its place. */
export const moreOutput = "\n[More output was not recorded]\n";

/** What a change between the streams counts as: each makes an event. */
const changeBytes = 512;

const decoder = new TextDecoder();

/** The sign of life of a call that says nothing else. */
export const stillRunning = "Still running";

interface Progress {
  readonly completed?: number;
  readonly total?: number;
  readonly message: string;
}

/** Where what is said goes. Contract: never throws, and does not wait. */
export interface ReportSink {
  progress(progress: Progress & { readonly phase: ToolCallPhase }): void;
  output(stream: OutputStream, text: string): void;
  plan(entries: readonly { readonly content: string; readonly status: PlanEntryStatus }[]): void;
}

interface ReportedCall {
  readonly toolCallId: string;
  readonly threadId: string;
  readonly workspace: string | undefined;
  /** Its signal is the tool's. */
  readonly scope: Pick<Scope, "signal">;
  /** A tool that says nothing for so long gets a "still running". */
  readonly quietMs: number;
}

export class CallReport {
  /** For the tool. Its functions may be taken apart. */
  readonly context: ToolContext;
  readonly #sink: ReportSink;
  readonly #quietMs: number;
  #quiet: NodeJS.Timeout | undefined;
  #phase = ToolCallPhase.UNSPECIFIED;
  #waiting: Progress | undefined;
  #lastMessage = "";
  #throttle: NodeJS.Timeout | undefined;
  #phaseEnds = 0;
  #outputBytes = 0;
  #lastStream: string = "stdout";
  #isOpen = true;

  constructor(sink: ReportSink, { toolCallId, threadId, workspace, scope, quietMs }: ReportedCall) {
    this.#sink = sink;
    this.context = new ReportContext(scope, {
      toolCallId,
      threadId,
      workspace,
      progress: (completed, total, message) => this.#progress(completed, total, message),
      phase: (phase, message) => this.#enter(phase, message),
      plan: (lines) => this.#plan(lines),
      output: (stream, text) => this.#output(stream, text),
    });
    this.#quietMs = quietMs;
  }

  /** From now on, a call that says nothing gives signs of life. */
  startClock(): void {
    if (this.#isOpen) this.#quiet = setInterval(() => this.#record({ message: this.#signOfLife() }), this.#quietMs);
  }

  /** Says what was held back, and nothing more. */
  close(): void {
    if (!this.#isOpen) return;
    if (this.#waiting) this.#recordWaiting();
    this.#isOpen = false;
    clearInterval(this.#quiet);
    clearTimeout(this.#throttle);
  }

  #progress(completed: number, total?: number, message = ""): void {
    if (!this.#isOpen) return;
    const words = typeof message === "string" ? message : "";
    this.#waiting = { message: words, ...number("completed", completed), ...number("total", total) };
    if (this.#throttle === undefined) this.#recordWaiting();
  }

  #enter(phase: Phase | undefined, message = ""): void {
    if (!this.#isOpen) return;
    this.#endPhase();
    this.#phase = (phase && phases[phase]) ?? ToolCallPhase.UNSPECIFIED;
    this.#waiting = { message: typeof message === "string" ? message : "" };
    if (this.#throttle === undefined) this.#recordWaiting();
  }

  /** How far the phase before had come is said although it is early: the last word about it. */
  #endPhase(): void {
    if (this.#waiting?.completed === undefined || this.#phaseEnds >= mostPhaseEnds) return;
    this.#phaseEnds++;
    this.#record(this.#waiting);
    this.#waiting = undefined;
  }

  /** What is no line of a plan is left out. */
  #plan(lines: readonly PlanLine[]): void {
    if (!this.#isOpen || !Array.isArray(lines)) return;
    const known = lines.filter((line: PlanLine | undefined) => typeof line?.content === "string") as PlanLine[];
    const entries = known
      .slice(0, limits.planEntries)
      .map(({ content, status }) => ({ content, status: planStatuses[status] ?? PlanEntryStatus.PENDING }));
    this.#sink.plan(entries);
  }

  /** Whatever a tool hands over is taken as text: an error thrown into its callbacks could end the process. */
  #output(stream: "stdout" | "stderr", given: unknown): void {
    const text = typeof given === "string" ? given : given instanceof Uint8Array ? decoder.decode(given) : "";
    if (!this.#isOpen || text === "") return;
    const before = this.#outputBytes;
    this.#outputBytes += utf8Bytes(text) + (stream === this.#lastStream ? 0 : changeBytes);
    this.#lastStream = stream;
    if (before > outputBoundBytes) return;
    const isOver = this.#outputBytes > outputBoundBytes;
    this.#spoke();
    this.#sink.output(stream === "stderr" ? OutputStream.STDERR : OutputStream.STDOUT, isOver ? moreOutput : text);
  }

  #recordWaiting(): void {
    const progress = this.#waiting;
    this.#waiting = undefined;
    this.#throttle = undefined;
    if (!progress || !this.#isOpen) return;
    this.#throttle = setTimeout(() => this.#recordWaiting(), progressEveryMs);
    this.#record(progress);
  }

  #record(progress: Progress): void {
    this.#spoke();
    this.#lastMessage = progress.message;
    this.#sink.progress({ phase: this.#phase, ...progress });
  }

  #spoke(): void {
    this.#quiet?.refresh();
  }

  /** What waits is not running: it says again what for. */
  #signOfLife(): string {
    return (this.#phase === ToolCallPhase.WAITING && this.#lastMessage) || stillRunning;
  }
}

const scopeOf = Symbol("scope");

/** Made when it is asked for. A property of its own, so that a tool can hand on a copy with changes, and one getter for all. */
const signal: PropertyDescriptor & ThisType<ReportContext> = {
  get() {
    return this[scopeOf].signal;
  },
  enumerable: true,
};

/**
 * Written out as a class: for an object literal with a getter of its own V8 makes a new shape each time, which takes longer than all else
 * here and lives until the next major collection.
 */
class ReportContext implements ToolContext {
  readonly toolCallId: string;
  readonly threadId: string;
  declare readonly signal: AbortSignal;
  readonly workspace: string | undefined;
  readonly progress: ToolContext["progress"];
  readonly phase: ToolContext["phase"];
  readonly plan: ToolContext["plan"];
  readonly output: ToolContext["output"];
  readonly [scopeOf]: ReportedCall["scope"];

  constructor(scope: ReportedCall["scope"], parts: Omit<ToolContext, "signal">) {
    this.toolCallId = parts.toolCallId;
    this.threadId = parts.threadId;
    this.workspace = parts.workspace;
    this.progress = parts.progress;
    this.phase = parts.phase;
    this.plan = parts.plan;
    this.output = parts.output;
    this[scopeOf] = scope;
    Object.defineProperty(this, "signal", signal);
  }
}

const phases: Readonly<Record<Phase, ToolCallPhase>> = {
  searching: ToolCallPhase.SEARCHING,
  interpreting: ToolCallPhase.INTERPRETING,
  connecting: ToolCallPhase.CONNECTING,
  waiting: ToolCallPhase.WAITING,
};

const planStatuses: Readonly<Record<PlanLine["status"], PlanEntryStatus>> = {
  pending: PlanEntryStatus.PENDING,
  in_progress: PlanEntryStatus.IN_PROGRESS,
  completed: PlanEntryStatus.COMPLETED,
};

/** A tool may divide by zero. */
const number = <Name extends string>(name: Name, value: number | undefined): Partial<Record<Name, number>> =>
  (value !== undefined && Number.isFinite(value) && value >= 0 ? { [name]: value } : {}) as Partial<
    Record<Name, number>
  >;
