// Counts the events of one subscriber's stream of server-sent events without reading them: each ends with an empty line.

const newline = 0x0a;

export class SseCounter {
  frames = 0;
  events = 0;
  bytes = 0;
  /** Pieces of the stream as they arrived. */
  chunks = 0;
  #endsWithNewline = false;
  readonly #onEvent: () => void;

  constructor(onEvent: () => void) {
    this.#onEvent = onEvent;
  }

  add(chunk: Buffer): void {
    this.chunks++;
    this.bytes += chunk.length;
    if (this.#endsWithNewline && chunk[0] === newline) this.#finish();
    for (let at = chunk.indexOf("\n\n"); at >= 0; at = chunk.indexOf("\n\n", at + 2)) this.#finish();
    this.#endsWithNewline = chunk.at(-1) === newline && chunk.at(-2) !== newline;
  }

  #finish(): void {
    this.frames++;
    this.events++;
    this.#onEvent();
  }
}
