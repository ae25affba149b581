// Tells HTTP/2 from HTTP/1.1 by the first bytes of a plaintext connection.
import type { Socket } from "node:net";

export type Protocol = "h2" | "http/1.1";

/** What every HTTP/2 client sends first (RFC 9113, 3.4). No HTTP/1.1 request starts so. */
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/**
 * Calls `decided` once the bytes tell, with all of them back in the socket and the socket paused. A connection that ends
 * or stays undecided for `timeoutMs` is destroyed.
 */
export function sniff(socket: Socket, timeoutMs: number, decided: (protocol: Protocol) => void): void {
  let seen: Buffer = Buffer.alloc(0);

  const onData = (chunk: Buffer): void => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const protocol = protocolOf(seen);
    if (protocol === undefined) return;
    stop();
    socket.pause();
    socket.unshift(seen);
    decided(protocol);
  };
  const giveUp = (): void => {
    stop();
    socket.destroy();
  };
  const timer = setTimeout(giveUp, timeoutMs);
  const stop = (): void => {
    clearTimeout(timer);
    socket.off("data", onData).off("end", giveUp).off("close", stop);
  };

  socket.on("data", onData).on("end", giveUp).on("close", stop);
}

/** Undefined while the bytes may still become either. */
export function protocolOf(seen: Buffer): Protocol | undefined {
  const length = Math.min(seen.length, preface.length);
  if (seen.compare(preface, 0, length, 0, length) !== 0) return "http/1.1";
  return length === preface.length ? "h2" : undefined;
}
