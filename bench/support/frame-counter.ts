// Counts the events of one subscriber's stream without decoding them.

/** Control frames (Ready, CaughtUp, Heartbeat) are smaller: they name no run. */
const smallestEventBytes = 96;
const envelopeBytes = 5;
const empty = Buffer.alloc(0);

export class FrameCounter {
  frames = 0;
  events = 0;
  bytes = 0;
  /** Pieces of the stream as they arrived: as good as one for each write of the server that fits into an HTTP/2 frame. */
  chunks = 0;
  /** Bytes of the current frame's message still to come. */
  #missing = 0;
  #envelope: Buffer = empty;
  #isEvent = false;
  readonly #onEvent: () => void;

  constructor(onEvent: () => void = () => {}) {
    this.#onEvent = onEvent;
  }

  add(chunk: Buffer): void {
    this.chunks++;
    this.bytes += chunk.length;
    let at = 0;
    while (at < chunk.length) {
      if (this.#missing === 0) {
        const taken = this.#takeEnvelope(chunk, at);
        at += taken;
        if (this.#envelope.length < envelopeBytes) return;
        this.#missing = this.#envelope.readUInt32BE(1);
        this.#isEvent = this.#missing >= smallestEventBytes;
        this.#envelope = empty;
      }
      const taken = Math.min(this.#missing, chunk.length - at);
      at += taken;
      this.#missing -= taken;
      if (this.#missing === 0) this.#finish();
    }
  }

  #takeEnvelope(chunk: Buffer, at: number): number {
    const taken = Math.min(envelopeBytes - this.#envelope.length, chunk.length - at);
    const piece = chunk.subarray(at, at + taken);
    this.#envelope = this.#envelope.length === 0 ? piece : Buffer.concat([this.#envelope, piece]);
    return taken;
  }

  #finish(): void {
    this.frames++;
    if (!this.#isEvent) return;
    this.events++;
    this.#onEvent();
  }
}
