// When each recording's lease ends. In memory only: a renewal is not worth a write, and after a restart every lease
// starts a full term.
import type { ThreadKey } from "../log/event-log.js";

/** Time, as the clocks see it; tests bring their own. */
export interface LeaseClock {
  now(): number;
  /** Runs once after a delay; returns what calls it off. */
  after(ms: number, run: () => void): () => void;
}

const systemClock: LeaseClock = {
  now: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
};

interface Running {
  readonly key: ThreadKey;
  readonly leaseMs: number;
  endsAt: number;
  cancel: () => void;
}

/** How long to wait before an expiry that could not be recorded is tried again. */
const retryMs = 1_000;

export class LeaseClocks {
  readonly #clock: LeaseClock;
  readonly #expire: (key: ThreadKey, recordingId: string) => Promise<void>;
  readonly #running = new Map<string, Running>();

  constructor(options: { clock?: LeaseClock; expire: (key: ThreadKey, recordingId: string) => Promise<void> }) {
    this.#clock = options.clock ?? systemClock;
    this.#expire = options.expire;
  }

  get size(): number {
    return this.#running.size;
  }

  start(key: ThreadKey, recordingId: string, leaseMs: number): void {
    const running: Running = { key, leaseMs, endsAt: this.#clock.now() + leaseMs, cancel: () => {} };
    this.#running.set(recordingId, running);
    this.#arm(recordingId, running, leaseMs);
  }

  /** Only moves the end: the timer looks again when it fires, so that a busy producer costs no timers. */
  renew(recordingId: string): void {
    const running = this.#running.get(recordingId);
    if (running) running.endsAt = this.#clock.now() + running.leaseMs;
  }

  isOver(recordingId: string): boolean {
    const running = this.#running.get(recordingId);
    return running === undefined || running.endsAt <= this.#clock.now();
  }

  stop(recordingId: string): void {
    this.#running.get(recordingId)?.cancel();
    this.#running.delete(recordingId);
  }

  dispose(): void {
    for (const { cancel } of this.#running.values()) cancel();
    this.#running.clear();
  }

  #arm(recordingId: string, running: Running, ms: number): void {
    running.cancel = this.#clock.after(ms, () => void this.#look(recordingId, running));
  }

  async #look(recordingId: string, running: Running): Promise<void> {
    const left = running.endsAt - this.#clock.now();
    if (left > 0) return this.#arm(recordingId, running, left);
    try {
      await this.#expire(running.key, recordingId);
      if (this.#running.get(recordingId) !== running) return;
      if (running.endsAt > this.#clock.now())
        return this.#arm(recordingId, running, running.endsAt - this.#clock.now());
      this.#running.delete(recordingId);
    } catch {
      // Its error has been reported. T1 must hold in the end, so try until it is recorded.
      if (this.#running.get(recordingId) === running) this.#arm(recordingId, running, retryMs);
    }
  }
}
