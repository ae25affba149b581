// A promise that fails and that nobody waits for ends a Node program. A server's tools are other people's code, and one that forgets to
// wait must not take the runs of all other threads with it: it is told, and the server goes on.
import type { Logger } from "pino";
import { thrownOf } from "./thrown.js";

/** Until the returned function is called. `say` tells a person, where the log says nothing of errors. */
export function tellForgottenPromises(logger: Logger, say: (text: string) => void = () => {}): () => void {
  const log = logger.child({}, { serializers: { err: thrownOf } });
  const tell = (reason: unknown): void => {
    if (log.isLevelEnabled("error")) log.error({ err: reason ?? String(reason) }, `${what}: await what it starts`);
    else say(`${what}: ${thrownOf(reason).message}`);
  };
  process.on("unhandledRejection", tell);
  return () => process.off("unhandledRejection", tell);
}

const what = "a promise failed that nobody waits for, most likely a tool's";
