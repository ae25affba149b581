// The thread that holds the index: it takes one request after the other, and answers each.
import { parentPort } from "node:worker_threads";
import type { FromThread, ToThread } from "./index-messages.js";
import { PassageIndex } from "./passage-index.js";

const index = new PassageIndex();
const say = (message: FromThread): void => parentPort!.postMessage(message);

parentPort!.on("message", ({ id, request }: ToThread) => {
  try {
    say({ id, answer: index.handle(request) });
  } catch (reason) {
    say({ id, problem: reason instanceof Error ? (reason.stack ?? reason.message) : String(reason) });
  }
});
