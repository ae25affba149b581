// One interpreter that is started and loaded ahead, so that whoever needs one next need not wait. It loads when somebody has
// loaded: two at the same time would make the first wait.
import type { Language } from "./child/messages.js";
import type { InterpreterProcess } from "./interpreter-process.js";

export class Spare {
  readonly #start: () => Promise<InterpreterProcess>;
  #next: Promise<InterpreterProcess | undefined> | undefined;
  #waiting: InterpreterProcess | undefined;
  #isClosed = false;

  constructor(start: () => Promise<InterpreterProcess>) {
    this.#start = start;
  }

  /** The one that waits, from its start on. */
  get waiting(): InterpreterProcess | undefined {
    return this.#waiting?.isOver ? undefined : this.#waiting;
  }

  /** The one that waits, or a new one where there is none. Another is started at once. */
  async take(): Promise<InterpreterProcess> {
    const waiting = this.#next;
    this.#prepare();
    const ready = await waiting;
    return ready === undefined || ready.isOver ? this.#start() : ready;
  }

  /** The language that is used here. */
  load(language: Language): void {
    // One that breaks is found to be over by whoever takes it.
    void this.#next?.then((process) => process?.load(language).catch(() => {}));
  }

  /** Ends it, until one is taken again. */
  async drop(): Promise<void> {
    const waiting = this.#next;
    this.#next = undefined;
    this.#waiting = undefined;
    await (await waiting)?.end();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.drop();
  }

  #prepare(): void {
    this.#waiting = undefined;
    this.#next = this.#isClosed ? undefined : this.#begin();
  }

  /** Without one, whoever comes next waits a little longer: no reason to fail. */
  async #begin(): Promise<InterpreterProcess | undefined> {
    try {
      const process = await this.#start();
      this.#waiting = process;
      return process;
    } catch {
      return undefined;
    }
  }
}
