// What delegate_task needs of the loop: a run in a thread of its own, followed to its end (loop/sub-runs.ts).

export interface SubTask {
  /** Of the call that delegates it. */
  readonly threadId: string;
  readonly toolCallId: string;
  /** A name for people: one line. */
  readonly title: string;
  /** The sub-agent's message. */
  readonly prompt: string;
  /** Aborted: the sub-run is called off, and waited for. */
  readonly signal: AbortSignal;
  onProgress(progress: SubProgress): void;
}

/** How far a sub-run has come. */
export interface SubProgress {
  /** Calls that it has made. */
  readonly toolCalls: number;
  /** What it is doing, for people: one line. */
  readonly summary: string;
  /** A call of it waits for a person's yes. */
  readonly isWaiting: boolean;
}

export interface SubRunEnd {
  readonly childThreadId: string;
  readonly outcome: "succeeded" | "failed" | "cancelled" | "incomplete" | "interrupted";
  /** As in RunCompleted. */
  readonly finishReason: string;
  readonly errorMessage: string;
  /** The sub-agent's last words. */
  readonly text: string;
  readonly toolCalls: number;
  readonly durationMs: number;
}

export interface SubRuns {
  /** Resolves when the sub-run is over. Rejects with a ToolFailure when it may not begin. */
  run(task: SubTask): Promise<SubRunEnd>;
}
