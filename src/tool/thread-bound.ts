// What outlives calls and belongs to threads, such as processes and interpreters.

export interface ThreadBound {
  /** The thread is gone. Resolves when nothing is left of what belonged to it. */
  endThread(threadId: string): Promise<void>;
  /** The server stops. Resolves when nothing is left; nothing begins afterwards. */
  close(): Promise<void>;
}
