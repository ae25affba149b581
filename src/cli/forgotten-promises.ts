// A promise that fails and that nobody waits for ends a Node program. A server's tools are other people's code, and one that forgets to
// wait must not take the runs of all other threads with it: it is told, and the server goes on.
import type { Logger } from "pino";
import { createRedactor } from "../thread/redact.js";
import { thrownOf } from "./thrown.js";

interface Telling {
  /** What is told to nobody. */
  readonly secrets: readonly string[];
  /** Tells a person, where the log says nothing of errors. */
  readonly say?: (text: string) => void;
}

/** Until the returned function is called. */
export function tellForgottenPromises(logger: Logger, { secrets, say = () => {} }: Telling): () => void {
  const redactor = createRedactor({ secrets });
  const shown = (reason: unknown) => thrownOf(reason, (text) => redactor.text(text));
  const log = logger.child({}, { serializers: { err: shown } });
  const tell = (reason: unknown): void => {
    if (log.isLevelEnabled("error")) log.error({ err: reason ?? String(reason) }, `${what}: await what it starts`);
    else say(`${what}: ${shown(reason).message}`);
  };
  process.on("unhandledRejection", tell);
  return () => process.off("unhandledRejection", tell);
}

const what = "a promise failed that nobody waits for, most likely a tool's";
