// One question to a provider through its SDK, from the request to the end of the reply. What is special to a provider is how
// it is asked (`send`) and how its reply is read (`Reply`); promises M1 and M3 to M5 are kept here, for all of them alike.
import type { ModelEvent } from "./model.js";
import type { Provider } from "./provider.js";
import { brokeOff, type SdkErrors, type Stage, thrown } from "./provider-error.js";
import { openLine, type ProviderLine } from "./provider-line.js";

/** Reads a reply as its chunks come. */
export interface Reply<Chunk> {
  read(chunk: Chunk): Iterable<ModelEvent>;
  /** What is left to say when the stream is over, `end` last. Undefined: the reply is not whole. */
  end(): readonly ModelEvent[] | undefined;
}

export interface Question<Chunk> {
  readonly provider: Provider;
  readonly reply: Reply<Chunk>;
  readonly signal: AbortSignal;
  readonly sdk: SdkErrors;
  send(line: ProviderLine, signal: AbortSignal): PromiseLike<AsyncIterable<Chunk>>;
}

export async function* askProvider<Chunk>(question: Question<Chunk>): AsyncGenerator<ModelEvent> {
  const { provider, reply, signal, sdk } = question;
  signal.throwIfAborted();
  const line = openLine(provider);
  const call = callUnder(signal);
  let hasBegun = false;
  const stage = (): Stage => (hasBegun ? "replying" : line.hasAnswered ? "answered" : "asking");
  try {
    for await (const chunk of await question.send(line, call.signal)) {
      signal.throwIfAborted();
      hasBegun = true;
      yield* reply.read(chunk);
    }
  } catch (error) {
    signal.throwIfAborted();
    // A reply that is whole is not spoilt by the way its connection ends.
    if (reply.end() === undefined) throw line.failure ?? thrown(provider, { error, sdk, stage: stage() });
  } finally {
    call.release();
  }
  signal.throwIfAborted(); // The SDKs end quietly when they are called off.
  const last = reply.end();
  if (last === undefined) throw brokeOff(provider);
  yield* last;
}

/** A signal of its own for the request: the SDKs leave listeners behind, and a run's signal outlives many requests. */
function callUnder(signal: AbortSignal): { readonly signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const hangUp = (): void => controller.abort(signal.reason);
  signal.addEventListener("abort", hangUp, { once: true });
  return { signal: controller.signal, release: () => signal.removeEventListener("abort", hangUp) };
}
