// The newest events of a response, as they are sent, within a bound: what its followers at the head read, and those that are not far behind.
import { type Piece, pieceBytes } from "./piece.js";

/** What is kept of one response. */
const keptBytes = 4 * 1024 * 1024;
const nothing = Buffer.alloc(0);

export class KeptEvents {
  #events: Buffer[] = [];
  /** How many at the start of `#events` are dropped: taking them out each time would cost all that is kept. */
  #dropped = 0;
  /** The number of the oldest one that is kept. */
  #first = 0;
  #bytes = 0;
  /** The highest number that a follower has, and the bytes of what comes after it. */
  #furthest = -1;
  #aheadBytes = 0;
  /** Pieces that several followers at one position want are joined once. */
  #joined: { readonly from: number; readonly piece: Piece } | undefined;

  /** The number of the event that has not come yet. */
  get next(): number {
    return this.#first + this.#events.length - this.#dropped;
  }

  /** Nobody has come so far that another event should be kept: one would be lost for all. */
  get isFull(): boolean {
    return this.#aheadBytes > keptBytes;
  }

  /** What comes after the position is not kept any more. */
  isBehind(position: number): boolean {
    return position + 1 < this.#first;
  }

  /** A follower has all up to there. */
  reached(position: number): void {
    const to = Math.min(position + 1, this.next);
    for (let number = Math.max(this.#furthest + 1, this.#first); number < to; number++)
      this.#aheadBytes -= this.#events[this.#at(number)]!.length;
    this.#furthest = Math.max(this.#furthest, position);
  }

  /** Undefined when there is nothing new. Contract: the position is not behind. */
  after(position: number): Piece | undefined {
    if (position + 1 >= this.next) return undefined;
    if (this.#joined?.from === position && this.#joined.piece.last === this.next - 1) return this.#joined.piece;
    const from = this.#at(position + 1);
    let to = from;
    for (let bytes = 0; to < this.#events.length && bytes < pieceBytes; to++) bytes += this.#events[to]!.length;
    const parts = this.#events.slice(from, to);
    const piece = { bytes: parts.length === 1 ? parts[0]! : Buffer.concat(parts), last: position + parts.length };
    this.#joined = { from: position, piece };
    return piece;
  }

  push(event: Buffer): void {
    if (this.next > this.#furthest) this.#aheadBytes += event.length;
    this.#events.push(event);
    this.#bytes += event.length;
    while (this.#bytes > keptBytes && this.#first <= this.#furthest && this.#first < this.next - 1) this.#drop();
    if (this.#dropped <= this.#events.length / 2) return;
    this.#events = this.#events.slice(this.#dropped);
    this.#dropped = 0;
  }

  #drop(): void {
    this.#bytes -= this.#events[this.#dropped]!.length;
    this.#events[this.#dropped++] = nothing;
    this.#first++;
  }

  #at = (number: number): number => this.#dropped + number - this.#first;
}
