// The one message of a server-streaming request, out of its envelope, within a bound and a time.
import type { Readable } from "node:stream";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Exchange } from "../../server/exchange.js";
import { HeddleError } from "../../thread/errors.js";
import { envelopeBytes } from "../../thread/frame.js";

/** A caller that has not sent its request by then is told so. */
const requestMs = 30_000;

export async function readOneMessage(exchange: Exchange, maxBytes: number): Promise<Uint8Array> {
  const { transport } = exchange;
  const body = await readBody(transport.version === 2 ? transport.stream : transport.request, maxBytes + envelopeBytes);
  if (body.length === 0) throw new HeddleError("unimplemented", "The request has no message, and one is needed");
  if (body.length < envelopeBytes) throw malformed("ends inside an envelope");
  const length = body.readUInt32BE(1);
  if (length > maxBytes) throw tooLarge(maxBytes);
  // The protocols call this INTERNAL. It is the client's doing all the same, and said as Connect's own handler says it.
  if (body[0] !== 0)
    throw new ConnectError("The request's message is compressed in a way that was not named", Code.Internal);
  if (body.length < envelopeBytes + length) throw malformed("ends inside a message");
  if (body.length > envelopeBytes + length)
    throw new HeddleError("unimplemented", "The request has more than one message");
  return body.subarray(envelopeBytes);
}

function readBody(source: Readable, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      source.off("data", onData).off("end", onEnd).off("close", onClose);
      act();
    };
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxBytes) settle(() => reject(tooLarge(maxBytes)));
    };
    const onEnd = (): void => settle(() => resolve(Buffer.concat(chunks)));
    const onClose = (): void =>
      settle(() => reject(new HeddleError("cancelled", "The caller left before the request was complete")));
    const timer = setTimeout(
      () => settle(() => reject(new HeddleError("deadline_exceeded", "The request did not arrive in time"))),
      requestMs,
    );
    source.on("data", onData).on("end", onEnd).on("close", onClose);
    source.on("error", () => {}); // 'close' follows.
  });
}

const malformed = (what: string): HeddleError =>
  new HeddleError("invalid_field", `The request ${what}`, {
    detail: { field: "", rule: "must be one enveloped message" },
  });

const tooLarge = (maxBytes: number): HeddleError =>
  new HeddleError("limit_exceeded", `A message may have at most ${maxBytes} bytes`, {
    detail: { limit: "messageBytes" },
  });
