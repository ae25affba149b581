// The fold of one follower, for what is not kept any more of a response: from its start to the follower's place, and on from there with the
// follower. However far behind that is, each event is folded once, and one piece of them is held.
import { encoded, type NumberedFrame } from "./events.js";
import { type Piece, pieceBytes } from "./piece.js";

export class CatchUp {
  readonly #frames: AsyncGenerator<NumberedFrame, unknown>;
  /** Folded, and not given. */
  #next: NumberedFrame | undefined;

  constructor(frames: AsyncGenerator<NumberedFrame, unknown>) {
    this.#frames = frames;
  }

  /** As far as one write goes. Contract: positions only grow, and events before `before` are there: none is waited for. */
  async read({ after, before }: { readonly after: number; readonly before: number }): Promise<Piece | undefined> {
    const buffers: Buffer[] = [];
    let last = after;
    // The event behind the last one that is there is not looked for: it may be long in coming.
    for (let bytes = 0; bytes < pieceBytes && last < before - 1; ) {
      const frame = await this.#peek();
      if (!frame || frame.number >= before) break;
      this.#next = undefined;
      if (frame.number <= after) continue;
      const buffer = encoded(frame);
      buffers.push(buffer);
      bytes += buffer.length;
      last = frame.number;
    }
    return buffers.length === 0 ? undefined : { bytes: Buffer.concat(buffers), last };
  }

  async close(): Promise<void> {
    await this.#frames.return(undefined);
  }

  async #peek(): Promise<NumberedFrame | undefined> {
    if (!this.#next) {
      const { done, value } = await this.#frames.next();
      if (!done) this.#next = value;
    }
    return this.#next;
  }
}
