// Calls of one tool, one after the other, each timed from the model's last word to its stored end; and the same work by hand between
// the same two commits, the call's start and its end.
import type { AppendBatch, EventLog } from "../../src/log/event-log.js";
import type { Model, ModelEvent, ModelRequest } from "../../src/model/model.js";
import { newId } from "../../src/thread/ids.js";
import { RawLmdb } from "../peers/raw-lmdb.js";
import type { BuiltCore } from "./built.js";
import { beat } from "./pace.js";
import { putsOfAppends, watchAppends } from "./recorded-append.js";

export interface Calls {
  readonly tool: string;
  readonly input: object;
  readonly count: number;
}

/** Between a call's name and the end of the reply: what came before the end is on disk by then. */
const writesMs = 25;

export class TimedCalls {
  readonly model: Model;
  /** The log with somebody who looks at the clock. */
  readonly log: EventLog;
  readonly #raw: RawLmdb;
  #pauseMs = writesMs;
  #appends: AppendBatch[] = [];
  #tookMs: number[] = [];
  #lastWordAt = 0;
  #onEnd: () => void = () => {};
  #onIdle: () => void = () => {};

  /** `rawDir`: where the commits by hand go. */
  constructor(log: EventLog, rawDir: string) {
    this.#raw = new RawLmdb(rawDir);
    this.log = watchAppends(log, (batch) => {
      this.#appends.push(batch);
      return () => this.#stored(batch);
    });
    this.model = { name: "bench:calls", stream: (request) => this.#stream(request) };
  }

  /** How long each call took. */
  async run({ threads }: Pick<BuiltCore, "threads">, calls: Calls): Promise<number[]> {
    this.#appends = [];
    this.#tookMs = [];
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    const { id: threadId } = await threads.create({ threadId: "", title: "bench", labels: {} });
    await threads.send(threadId, { requestId: newId(), text: JSON.stringify(calls), options: undefined });
    await idle;
    return this.#tookMs;
  }

  /** A server is judged warm: the way of a call is longer than by hand, and takes longer to be compiled. */
  async warmUp(core: Pick<BuiltCore, "threads">, calls: Calls): Promise<void> {
    this.#pauseMs = 0;
    await this.run(core, calls);
    this.#pauseMs = writesMs;
  }

  /** The same work between the two commits of the last call that was run. */
  async byHand(count: number, work: () => Promise<unknown>): Promise<number[]> {
    const took: number[] = [];
    const groups = putsOfAppends(this.#appends);
    const withCalls = groups.filter((_, index) => this.#appends[index]!.calls?.length);
    const [started, ended] = withCalls.slice(-2) as [(typeof groups)[0], (typeof groups)[0]];
    for (let call = 0; call < count; call++) {
      await beat(this.#pauseMs);
      const startedAt = performance.now();
      await this.#raw.put(started);
      await work();
      await this.#raw.put(ended);
      took.push(performance.now() - startedAt);
    }
    return took;
  }

  /** The next call is made when the end of the last one is stored: its commit is its own. */
  async *#stream({ messages }: ModelRequest): AsyncGenerator<ModelEvent> {
    const asked = messages.find(({ role }) => role === "user");
    const { tool, input, count } = JSON.parse(asked?.role === "user" ? asked.text : "{}") as Calls;
    const done = messages.filter(({ role }) => role === "assistant").length;
    while (this.#tookMs.length < done)
      await new Promise<void>((resolve) => {
        this.#onEnd = resolve;
      });
    if (done === count) {
      yield { type: "text", text: "Done." };
      yield { type: "end", reason: "stop", providerReason: "stop" };
      return;
    }
    yield { type: "tool_call", index: 0, id: `call_${done}`, name: tool, input: JSON.stringify(input) };
    yield { type: "tool_call_end", index: 0 };
    await beat(this.#pauseMs);
    this.#lastWordAt = performance.now();
    yield { type: "end", reason: "tool_calls", providerReason: "tool_calls" };
  }

  #stored({ bodies, busy }: AppendBatch): void {
    if (busy === false) this.#onIdle();
    // What the model is told comes with the end of a call.
    if (!bodies?.some(({ contentId }) => contentId === "model")) return;
    this.#tookMs.push(performance.now() - this.#lastWordAt);
    this.#onEnd();
  }
}
