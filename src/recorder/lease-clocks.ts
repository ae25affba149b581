// When each hold on a thread ends. In memory only: a renewal is not worth a write, and after a restart every lease starts a
// full term.

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
  readonly leaseMs: number;
  /** Records the end. Tried again until it resolves: T1 must hold in the end. */
  readonly expire: () => Promise<void>;
  endsAt: number;
  /** Batches that were heard and are not answered: whoever sent them is alive, however slow the disk is. */
  underWay: number;
  cancel: () => void;
}

/** How long to wait before an expiry that could not be recorded is tried again. */
const retryMs = 1_000;

/** A hold has an id that nobody guesses or shares: of the recording and its epoch, or of a run. */
export class LeaseClocks {
  readonly #clock: LeaseClock;
  readonly #running = new Map<string, Running>();

  constructor(clock: LeaseClock = systemClock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#running.size;
  }

  /** Starts the clock of a hold. One that runs already is left alone. */
  start(id: string, leaseMs: number, expire: () => Promise<void>): void {
    if (this.#running.has(id)) return;
    const running: Running = { leaseMs, expire, endsAt: this.#clock.now() + leaseMs, underWay: 0, cancel: () => {} };
    this.#running.set(id, running);
    this.#arm(id, running, leaseMs);
  }

  /**
   * Keeps the hold for as long as the work takes, and renews it at both ends. Only moves the end: the timer looks again when
   * it fires, so that a busy producer costs no timers.
   */
  async during<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
    const heard = this.#running.get(id);
    if (heard) heard.underWay++;
    this.#renew(id);
    try {
      return await work();
    } finally {
      // Not the clock that runs now: the work may have started it, and it counts nothing of this work.
      if (heard) heard.underWay--;
      this.#renew(id);
    }
  }

  isOver(id: string): boolean {
    const running = this.#running.get(id);
    return running === undefined || (running.underWay === 0 && running.endsAt <= this.#clock.now());
  }

  stop(id: string): void {
    this.#running.get(id)?.cancel();
    this.#running.delete(id);
  }

  dispose(): void {
    for (const id of [...this.#running.keys()]) this.stop(id);
  }

  #renew(id: string): void {
    const running = this.#running.get(id);
    if (running) running.endsAt = this.#clock.now() + running.leaseMs;
  }

  #arm(id: string, running: Running, ms: number): void {
    running.cancel = this.#clock.after(ms, () => void this.#look(id, running));
  }

  async #look(id: string, running: Running): Promise<void> {
    if (!this.isOver(id)) return this.#armAgain(id, running);
    try {
      await running.expire();
      if (this.#running.get(id) !== running) return;
      if (this.isOver(id)) this.#running.delete(id);
      else this.#armAgain(id, running); // Heard from while the expiry waited for its turn.
    } catch {
      // Its error has been reported.
      if (this.#running.get(id) === running) this.#arm(id, running, retryMs);
    }
  }

  #armAgain(id: string, running: Running): void {
    this.#arm(id, running, Math.max(running.endsAt - this.#clock.now(), running.underWay > 0 ? retryMs : 0));
  }
}
