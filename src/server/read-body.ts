// The body of a request, within a bound of size and time.
import type { Readable } from "node:stream";
import { HeddleError } from "../thread/errors.js";

/** A caller whose request is not complete, and who sends nothing more of it for so long, is told so. */
export const quietMs = 30_000;
/** The same for one that sends so little at a time that its request is not complete by then. */
export const longestMs = 300_000;

export interface Bound {
  readonly bytes: number;
  /** What is wrong with a body that is longer. */
  readonly beyond: (start: Buffer) => Error;
}

/** Leaves nothing on the source: listeners would keep the body alive for as long as the stream is. */
export function readBody(source: Readable, bound: Bound): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const lateAtMs = performance.now() + longestMs;
    let bytes = 0;
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      source.off("data", onData).off("end", onEnd).off("close", onClose);
      act();
    };
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > bound.bytes) settle(() => reject(bound.beyond(joined(chunks))));
      else if (performance.now() > lateAtMs) onLate();
      else timer.refresh();
    };
    const onEnd = (): void => settle(() => resolve(joined(chunks)));
    const onClose = (): void =>
      settle(() => reject(new HeddleError("cancelled", "The caller left in the middle of its request")));
    const onLate = (): void =>
      settle(() => reject(new HeddleError("deadline_exceeded", "The request did not arrive in time")));
    const timer = setTimeout(onLate, quietMs);
    source.on("data", onData).on("end", onEnd).on("close", onClose);
    source.on("error", ignore); // 'close' follows.
  });
}

const ignore = (): void => {};

const joined = (chunks: readonly Buffer[]): Buffer => (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
