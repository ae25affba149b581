// The server's side of the index's thread. A thread that dies (it needed too much memory, or there is a fault in it) takes only the
// index with it: whoever asked is told, and the next one builds it anew from the store.
import { Worker } from "node:worker_threads";
import { HeddleError } from "../../thread/errors.js";
import { entryOf, moduleBeside } from "../../tool/offload/built.js";
import type { FromThread, IndexAnswer, IndexRequest, SearchIndex, ToThread } from "./index-messages.js";

const threadUrl = moduleBeside(import.meta.url, "index-thread");

/** What documentLimits.passagesInAll take, and some. Vectors lie outside of it. */
const heapMb = 2_048;

interface Waiting {
  resolve(answer: IndexAnswer | undefined): void;
  reject(reason: unknown): void;
}

export class IndexClient {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #gone: HeddleError | undefined;

  constructor() {
    const { entry, ...start } = entryOf(threadUrl);
    // A thread has no need of secrets.
    const options = { env: {}, resourceLimits: { maxOldGenerationSizeMb: heapMb } };
    this.#worker = new Worker(entry, { ...start, ...options });
    this.#worker.on("message", (message: FromThread) => this.#settle(message));
    this.#worker.on("error", (reason) => this.#end(broken(reason)));
    this.#worker.on("exit", () => this.#end(broken()));
    // The documents are no reason for a process to go on.
    this.#worker.unref();
  }

  get isAlive(): boolean {
    return this.#gone === undefined;
  }

  /** Resolves when the index has it. */
  async tell(request: Exclude<IndexRequest, SearchIndex>): Promise<void> {
    await this.#ask(request);
  }

  async search(request: SearchIndex): Promise<IndexAnswer> {
    return (await this.#ask(request))!;
  }

  async close(): Promise<void> {
    this.#end(new HeddleError("shutting_down", "The documents are closed"));
    await this.#worker.terminate();
  }

  #ask(request: IndexRequest): Promise<IndexAnswer | undefined> {
    if (this.#gone !== undefined) return Promise.reject(this.#gone);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.ref();
      this.#worker.postMessage({ id, request: exact(request) } satisfies ToThread);
    });
  }

  #settle(message: FromThread): void {
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (this.#waiting.size === 0) this.#worker.unref();
    if ("problem" in message) waiting?.reject(broken(new Error(message.problem)));
    else waiting?.resolve(message.answer);
  }

  #end(reason: HeddleError): void {
    this.#gone ??= reason;
    for (const { reject } of this.#waiting.values()) reject(this.#gone);
    this.#waiting.clear();
  }
}

/** A view would take all of the memory that it looks at along. */
const exact = (request: IndexRequest): IndexRequest =>
  request.type === "leaf" ? { ...request, passages: new Uint8Array(request.passages) } : request;

function broken(cause?: NodeJS.ErrnoException): HeddleError {
  if (cause?.code !== "ERR_WORKER_OUT_OF_MEMORY")
    return new HeddleError("internal", "The index of the documents broke off: search again", { cause });
  return new HeddleError("limit_exceeded", "The index of the documents needs too much memory: delete documents", {
    detail: { limit: "documents.memory" },
    cause,
  });
}
