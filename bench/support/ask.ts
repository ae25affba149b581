// Questions and answers between the bench and its processes, over Node's IPC channel.
import type { ChildProcess } from "node:child_process";

/** What a process can be asked: one argument, one answer. */
export type Asks = Record<string, (given: never) => unknown>;

/** What every process can be asked, whatever it is (usage-probe.mjs). */
export interface UsageAsks {
  usage(given: undefined): { cpuUs: number };
}

interface Question {
  readonly id: number;
  readonly ask: string;
  readonly given: unknown;
}

type Answer = { readonly id: number } & ({ readonly reply: unknown } | { readonly failure: string });

type Given<Ask> = Ask extends (given: infer Value) => unknown ? Value : never;
type Reply<Ask> = Ask extends (given: never) => infer Value ? Awaited<Value> : never;

export type AskFunction<Api> = <Name extends keyof Api & string>(
  name: Name,
  given: Given<Api[Name]>,
) => Promise<Reply<Api[Name]>>;

/** The asking side. A process that ends before it answers is a failure that names it. */
export function asker<Api>(child: ChildProcess, name: string): AskFunction<Api> {
  const open = new Map<number, { resolve: (reply: never) => void; reject: (error: Error) => void }>();
  let lastId = 0;
  child.on("message", (answer: Answer) => {
    const waiting = open.get(answer.id);
    open.delete(answer.id);
    if ("reply" in answer) waiting?.resolve(answer.reply as never);
    else waiting?.reject(new Error(`${name}: ${answer.failure}`));
  });
  child.once("exit", (code, signal) => {
    for (const { reject } of open.values()) reject(new Error(`${name} ended (${signal ?? code}) before it answered`));
    open.clear();
  });
  return (ask, given) =>
    new Promise((resolve, reject) => {
      const id = ++lastId;
      open.set(id, { resolve, reject });
      child.send({ id, ask, given } satisfies Question, (error) => {
        if (error) reject(new Error(`${name} cannot be asked any more`, { cause: error }));
      });
    });
}

/** The answering side, in the process itself. Its first message says that it can be asked: earlier questions are lost. */
export function answerAsks(asks: Asks): void {
  process.channel?.ref();
  process.on("message", async ({ id, ask, given }: Question) => {
    const run = asks[ask] as ((given: unknown) => unknown) | undefined;
    if (!run) return; // The probe's.
    try {
      send({ id, reply: await run(given) });
    } catch (error) {
      send({ id, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  send({ id: 0, reply: "ready" });
}

const send = (answer: Answer): void => void process.send?.(answer);
