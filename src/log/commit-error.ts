// Why a commit failed.

/** lmdb-js rejects with an error that holds a promise that rejects with the cause: unless somebody awaits it, the process ends. */
export async function commitError(error: unknown): Promise<unknown> {
  try {
    await (error as { commitError?: Promise<never> }).commitError;
    return error;
  } catch (cause) {
    return cause;
  }
}
