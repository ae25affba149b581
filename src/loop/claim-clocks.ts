// When calls that clients run are given up: one that nobody claims at its deadline, a claimed one when its client has been silent
// for too long.
import type { ThreadKey } from "../log/event-log.js";
import { type LeaseClock, LeaseClocks } from "../recorder/lease-clocks.js";

/** What is recorded then. Tried again until it resolves. */
interface Expiries {
  readonly unclaimed: (key: ThreadKey, toolCallId: string) => Promise<void>;
  readonly silent: (key: ThreadKey, toolCallId: string) => Promise<void>;
}

/** What Node's timers take. */
const longestTimerMs = 2 ** 31 - 1;

export class ClaimClocks {
  readonly #expiries: Expiries;
  readonly #offers: LeaseClocks;
  readonly #leases: LeaseClocks;
  /** When something was last recorded of a claimed call. */
  readonly #spokeMs = new Map<string, number>();
  #isDisposed = false;

  constructor(expiries: Expiries, clock?: LeaseClock) {
    this.#expiries = expiries;
    this.#offers = new LeaseClocks(clock);
    this.#leases = new LeaseClocks(clock);
  }

  /** The call waits to be claimed. */
  offered(key: ThreadKey, toolCallId: string, expiresMs: number): void {
    if (this.#isDisposed) return;
    const waitMs = Math.min(Math.max(expiresMs - Date.now(), 0), longestTimerMs);
    this.#offers.start(toolCallId, waitMs, () => this.#expiries.unclaimed(key, toolCallId));
  }

  /** The call was claimed: its client must be heard of. */
  claimed(key: ThreadKey, toolCallId: string, leaseMs: number): void {
    this.#offers.stop(toolCallId);
    if (this.#isDisposed) return;
    this.#leases.start(toolCallId, leaseMs, () => this.#expiries.silent(key, toolCallId));
  }

  /** The client is heard of for as long as the work takes, and its lease renewed. */
  during<Result>(toolCallId: string, work: () => Promise<Result>): Promise<Result> {
    return this.#leases.during(toolCallId, work);
  }

  /** Something was recorded of a claimed call. */
  spoke(toolCallId: string): void {
    this.#spokeMs.set(toolCallId, performance.now());
  }

  /** For how long nothing was. */
  quietMs(toolCallId: string): number {
    return performance.now() - (this.#spokeMs.get(toolCallId) ?? Number.NEGATIVE_INFINITY);
  }

  isSilent(toolCallId: string): boolean {
    return this.#leases.isOver(toolCallId);
  }

  stop(toolCallId: string): void {
    this.#offers.stop(toolCallId);
    this.#leases.stop(toolCallId);
    this.#spokeMs.delete(toolCallId);
  }

  /** The calls stay; the next process starts their clocks. */
  dispose(): void {
    this.#isDisposed = true;
    this.#offers.dispose();
    this.#leases.dispose();
  }
}
