// The tasks that a run has delegated: how many, and what they used. Kept in its document, so that a restart does not set its limits
// back.
import type { ThreadDraft } from "../recorder/thread-draft.js";
import type { RunDocument } from "../thread/schema.js";

/** How far tasks may be delegated. */
export interface DelegationLimits {
  /** Levels of threads below one that nobody delegated a task to. */
  readonly depth: number;
  /** Tasks of one run that are under way at the same time. */
  readonly atOnce: number;
  /** Tasks of one run in all. */
  readonly perRun: number;
}

export class DelegatedTasks {
  #count: number;
  #tokens: bigint;

  constructor({ tasks, taskTokens }: Pick<RunDocument, "tasks" | "taskTokens">) {
    this.#count = tasks;
    this.#tokens = taskTokens;
  }

  get count(): number {
    return this.#count;
  }

  /** Of their runs, and of those below them. */
  get tokens(): bigint {
    return this.#tokens;
  }

  begin(): void {
    this.#count++;
  }

  use(tokens: bigint): void {
    this.#tokens += tokens;
  }

  /** A task may end when its run is over: another one's document is not touched. */
  note(draft: ThreadDraft, runId: string): void {
    if (draft.document.runId === runId) draft.changeRun({ tasks: this.#count, taskTokens: this.#tokens });
  }
}
