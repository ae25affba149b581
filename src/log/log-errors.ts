// What both stores say about a thread, in the same words.
import { HeddleError } from "../thread/errors.js";
import type { ThreadKey } from "./event-log.js";

export const threadNotFound = (key: ThreadKey): HeddleError =>
  new HeddleError("thread_not_found", `There is no thread ${key.threadId}`);

export const threadDeleted = (key: ThreadKey): HeddleError =>
  new HeddleError("thread_deleted", `Thread ${key.threadId} was deleted`);

export const conflict = (headSequence: bigint): HeddleError =>
  new HeddleError("conflict", `The head is ${headSequence}, or another write is under way: read on and try again`, {
    detail: { headSequence },
  });

export const closed = (): HeddleError => new HeddleError("shutting_down", "The log is closed");
