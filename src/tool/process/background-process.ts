// One background process, from before it is there until its end is recorded. Whatever happens, what was begun in the journal is
// ended there once, and only when nothing of it is left.
import { beginGuarded } from "../command/begin-guarded.js";
import type { BegunProcess, Ending } from "../command/begin-process.js";
import { type Commands, holdCommand } from "../command/commands.js";
import type { HeldCommand } from "../command/sandbox.js";
import { shellArgv } from "../command/shell-command.js";
import { processLimits, type WatchedLimits } from "../command/watch-processes.js";
import { type ToolContext, ToolFailure } from "../tool.js";
import { oneLine } from "../words.js";
import { type EndReason, endingOf, endingUnstarted, notStartedWords } from "./ending.js";
import type { ProcessEnding, ProcessJournal } from "./journal.js";
import type { OutputLines } from "./output-lines.js";
import type { ReadingShare } from "./reading-share.js";

export interface BackgroundCommand {
  readonly command: string;
  /** What it is for. */
  readonly description?: string | undefined;
}

export interface ProcessParts {
  readonly commands: Commands;
  readonly journal: ProcessJournal;
  readonly output: OutputLines;
  readonly reading: ReadingShare;
}

/** What it does while nobody waits for it is looked at less often: there may be hundreds. */
const limits: WatchedLimits = { ...processLimits, everyMs: 1_000 };

type State =
  | { readonly kind: "beginning" }
  | { readonly kind: "running"; readonly id: string; readonly pid: number | undefined }
  | { readonly kind: "over"; readonly id: string; readonly ending: ProcessEnding }
  /** It never got into the journal. */
  | { readonly kind: "nothing" };

export class BackgroundProcess {
  readonly threadId: string;
  readonly command: string;
  readonly description: string | undefined;
  readonly output: OutputLines;
  /** Resolves when nothing of it is left and its end is recorded. Never rejects. */
  readonly over: Promise<void>;
  readonly #parts: ProcessParts;
  readonly #stop = new AbortController();
  readonly #startedAt = performance.now();
  #settle: () => void = () => {};
  #endedAt: number | undefined;
  #endReason: EndReason | undefined;
  #state: State = { kind: "beginning" };

  constructor(threadId: string, { command, description }: BackgroundCommand, parts: ProcessParts) {
    this.threadId = threadId;
    this.command = command;
    this.description = description;
    this.output = parts.output;
    this.#parts = parts;
    this.over = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** Its name within its thread; empty while it has none. */
  get id(): string {
    return "id" in this.#state ? this.#state.id : "";
  }

  /** Undefined where it says nothing to anybody: in a sandbox. */
  get pid(): number | undefined {
    return this.#state.kind === "running" ? this.#state.pid : undefined;
  }

  /** Undefined while it runs. */
  get ending(): ProcessEnding | undefined {
    return this.#state.kind === "over" ? this.#state.ending : undefined;
  }

  /** How long it has run, or ran. */
  get runningMs(): number {
    return (this.#endedAt ?? performance.now()) - this.#startedAt;
  }

  /** Ends it wherever it stands. The first reason counts. Resolves as `over` does. */
  end(reason: EndReason): Promise<void> {
    this.#endReason ??= reason;
    this.#stop.abort(new ToolFailure(`Not started: ${notStartedWords[reason]}`, { code: "ECANCELED" }));
    return this.over;
  }

  /** Resolves when it runs. Rejects when it could not be begun or started; it is over then. */
  async start({ toolCallId, workspace }: Pick<ToolContext, "toolCallId" | "workspace">): Promise<void> {
    const { threadId } = this;
    let id: string;
    try {
      id = await this.#parts.journal.begin({ threadId, toolCallId, command: oneLine(this.command) || "a command" });
    } catch (error) {
      this.#state = { kind: "nothing" };
      this.#settle();
      throw error;
    }
    try {
      const launched = await this.#launch(toolCallId, workspace);
      this.#state = { kind: "running", id, pid: launched.held.isSandbox ? undefined : launched.process.pid };
      void this.#watch(id, launched);
    } catch (error) {
      await this.#record(id, endingUnstarted(error, this.#endReason));
      throw error;
    }
  }

  async #launch(toolCallId: string, workspace: string | undefined): Promise<Launched> {
    const { commands, reading } = this.#parts;
    this.#stop.signal.throwIfAborted();
    const argv = shellArgv(this.command);
    const held = await holdCommand(commands, { argv, access: "write" }, { workspace });
    try {
      const process = await beginGuarded(commands.guard, {
        ...held,
        mark: toolCallId,
        limits,
        signal: this.#stop.signal,
        onPiece: (stream, piece) => reading.take(() => this.output.add(stream, piece)),
      });
      return { process, held };
    } catch (error) {
      await released(held);
      throw error;
    }
  }

  async #watch(id: string, { process, held }: Launched): Promise<void> {
    const end: Ending = await process.ended;
    this.output.close();
    const note = await released(held);
    const { command, output } = this;
    await this.#record(id, endingOf({ command, end, reason: this.#endReason, bytes: output.printedBytes, note }));
  }

  async #record(id: string, ending: ProcessEnding): Promise<void> {
    this.#endedAt = performance.now();
    this.#state = { kind: "over", id, ending };
    await this.#parts.journal.end(this.threadId, id, ending);
    this.#settle();
  }
}

interface Launched {
  readonly process: BegunProcess;
  readonly held: HeldCommand;
}

/** What was found in the workspace that a command must not leave there, in words; undefined when there was nothing. */
const released = (held: HeldCommand): Promise<string | undefined> =>
  held.release().then(
    () => undefined,
    (reason: unknown) => (reason instanceof Error ? reason.message : String(reason)),
  );
