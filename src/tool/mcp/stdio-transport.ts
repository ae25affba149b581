// Messages to and from a server that is a process: one JSON text a line. What is none is told to the log, and skipped: many servers
// print a greeting.
import type { Guard } from "../command/guard.js";
import { oneLine } from "../words.js";
import { type Program, StdioProcess } from "./stdio-process.js";

/** The SDK's own shape of a transport. */
interface Message {
  readonly method?: unknown;
  readonly id?: unknown;
}

export interface StdioOptions {
  readonly program: Program;
  readonly guard: Guard;
  onLog(level: string, text: string): void;
}

/** Of the last that a server said before it ended. */
const shownUnits = 120;

export class StdioTransport {
  onmessage?: (message: never) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  /** Why it is over, for people. Undefined while it is not. */
  overBecause: string | undefined;
  readonly #options: StdioOptions;
  readonly #waiting: Message[] = [];
  #process: StdioProcess | undefined;
  #lastWords = "";
  #isTelling = false;
  #hasClosed = false;

  constructor(options: StdioOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { program, guard, onLog } = this.#options;
    this.#process = await StdioProcess.start(program, guard, {
      onLine: (line) => this.#hear(line.toString("utf8")),
      onErrorLine: (line) => {
        if (line.trim() !== "") this.#lastWords = oneLine(line).slice(0, shownUnits);
        onLog("stderr", line);
      },
      onOver: (reason) => {
        this.overBecause = this.#lastWords === "" ? reason : `${reason} (${this.#lastWords})`;
        this.#closed();
      },
    });
  }

  async send(message: unknown): Promise<void> {
    if (!this.#process || this.overBecause !== undefined) throw new Error("Not connected");
    await this.#process.send(JSON.stringify(message));
  }

  async close(): Promise<void> {
    await this.#process?.end();
    this.#closed();
  }

  #closed(): void {
    if (this.#hasClosed) return;
    this.#hasClosed = true;
    this.onclose?.();
  }

  #hear(line: string): void {
    if (line.trim() === "") return;
    const message = parsed(line);
    if (message === undefined) this.#options.onLog("stdout", line);
    else this.#waiting.push(message);
    if (!this.#isTelling) void this.#tell();
  }

  /**
   * The SDK hears a notification a moment after it was told, and an answer at once: progress that comes together with the answer
   * would be for a call that is over.
   */
  async #tell(): Promise<void> {
    this.#isTelling = true;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      this.onmessage?.(next as never);
      if (next.id === undefined) await Promise.resolve();
    }
    this.#isTelling = false;
  }
}

/** Undefined for what is no message. */
function parsed(line: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Message) : undefined;
  } catch {
    return undefined;
  }
}
