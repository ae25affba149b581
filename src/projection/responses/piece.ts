// What a follower of a response is sent at once.

/** Encoded events that follow one another, as one write, and the number of the last of them. */
export interface Piece {
  readonly bytes: Buffer;
  readonly last: number;
}

/** What goes out in one write, and at most one event more. */
export const pieceBytes = 256 * 1024;
