// What the log is told of background processes. The loop writes it down (loop/process-journal.ts).

export interface ProcessBeginning {
  readonly threadId: string;
  /** The call that starts it. */
  readonly toolCallId: string;
  /** What it runs, for people: one line. */
  readonly command: string;
}

export interface ProcessEnding {
  readonly outcome: "exited" | "stopped" | "limit" | "not_started" | "interrupted";
  /** Undefined when a signal ended it, or it is not known. */
  readonly exitCode: number | undefined;
  /** What became of it, for people: one line. */
  readonly summary: string;
  readonly outputBytes: number;
}

export interface ProcessJournal {
  /** Resolves with the process's name within its thread, such as `p3`, once its beginning is stored: only then may it be started. */
  begin(beginning: ProcessBeginning): Promise<string>;
  /** Resolves when its end is stored, or the thread is gone. Tries until it works, or the server stops. Never rejects. */
  end(threadId: string, processId: string, ending: ProcessEnding): Promise<void>;
  /** How many processes the thread has had, also under earlier servers: they are `p1` up to this number. */
  begun(threadId: string): Promise<number>;
}
