// What a tool says on its way to the server: in batches, in order, one under way at a time; and a sign of life when there is nothing to
// send, so that the lease does not end. What was said before is sent first, however long the server was away.
import { setTimeout as pause } from "node:timers/promises";
import type { ReportSink } from "../loop/call-report.js";
import { limits } from "../thread/limits.js";
import type { OutputStream } from "../thread/schema.js";
import { splitToUtf8Bytes, utf8Bytes } from "../thread/text.js";
import { CallLost, type HeldCall } from "./held-call.js";

type Progress = Parameters<ReportSink["progress"]>[0];

/** Output, and the progress that was said behind it. */
interface Batch {
  readonly outputs: { readonly stream: OutputStream; text: string }[];
  bytes: number;
  progress?: Progress;
}

/** Between two reports. The first goes at once. */
const batchEveryMs = 50;
/** Of one report: half of what a server takes. */
const batchBytes = limits.report.bytes / 2;
/** Of one piece, so that a report can be filled well. */
const pieceBytes = 64 * 1024;
/** Progress that is held back for a server that is away: from then on only the latest. */
const mostBatches = 64;
/** A lease is renewed so often in its time. */
const renewals = 3;

export class ReportLine implements ReportSink {
  readonly #held: HeldCall;
  readonly #onLost: () => void;
  readonly #renew: NodeJS.Timeout;
  readonly #batches: Batch[] = [];
  readonly #hurry = new AbortController();
  #sequence = 0n;
  #sending: Promise<void> | undefined;
  #lost: CallLost | undefined;

  /** `onLost` is called once, when the server says that the call is not ours any more. */
  constructor(held: HeldCall, onLost: () => void) {
    this.#held = held;
    this.#onLost = onLost;
    this.#renew = setInterval(() => this.look(), held.leaseMs / renewals);
  }

  progress(progress: Progress): void {
    const last = this.#batches.at(-1);
    if (last && (!last.progress || this.#batches.length >= mostBatches)) last.progress = progress;
    else this.#batches.push({ outputs: [], bytes: 0, progress });
    this.#send();
  }

  output(stream: OutputStream, text: string): void {
    for (const piece of splitToUtf8Bytes(text, pieceBytes)) this.#add(stream, piece);
    this.#send();
  }

  /** No tool that executors run makes plans. */
  plan(): void {}

  /** Asks whether the call is still ours, unless a report is under way that asks the same. */
  look(): void {
    if (this.#sending || this.#lost) return;
    this.#sending = this.#report({}).finally(() => {
      this.#sending = undefined;
      this.#send();
    });
  }

  /** Resolves when everything that was said has arrived. Throws CallLost when the call is not ours any more. */
  async flush(): Promise<void> {
    this.#hurry.abort();
    this.#send();
    while (this.#sending) await this.#sending;
    if (this.#lost) throw this.#lost;
  }

  /** Renews nothing any more. */
  close(): void {
    clearInterval(this.#renew);
  }

  #add(stream: OutputStream, text: string): void {
    const bytes = utf8Bytes(text);
    const batch = this.#roomFor(bytes);
    const last = batch.outputs.at(-1);
    if (last?.stream === stream) last.text += text;
    else batch.outputs.push({ stream, text });
    batch.bytes += bytes;
  }

  #roomFor(bytes: number): Batch {
    const last = this.#batches.at(-1);
    if (last && !last.progress && last.bytes + bytes <= batchBytes && last.outputs.length < limits.report.outputs)
      return last;
    const batch: Batch = { outputs: [], bytes: 0 };
    this.#batches.push(batch);
    return batch;
  }

  #send(): void {
    if (this.#sending || this.#lost || this.#batches.length === 0) return;
    this.#sending = this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  async #sendAll(): Promise<void> {
    for (let batch = this.#batches.shift(); batch; batch = this.#batches.shift()) {
      const { outputs, progress } = batch;
      await this.#report({ outputs, ...(progress && { progress }), reportSequence: ++this.#sequence });
      if (this.#lost) return;
      await pause(batchEveryMs, undefined, { signal: this.#hurry.signal }).catch(() => {});
    }
  }

  async #report(report: Parameters<HeldCall["report"]>[0]): Promise<void> {
    try {
      await this.#held.report(report);
    } catch (reason) {
      // One that the server does not take is lost, and the next may not be.
      if (!(reason instanceof CallLost) || this.#lost) return;
      this.#lost = reason;
      this.#batches.length = 0;
      this.#onLost();
    }
  }
}
