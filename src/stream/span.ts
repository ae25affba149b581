// Cutting and joining of spans without touching what is in the frames.
import type { Span } from "../log/event-log.js";
import { skipFrames } from "../thread/frame.js";

/** The part of a span after a position and up to another, inclusive. The span must reach into that range. */
export function cutSpan(span: Span, after: bigint, upTo: bigint): Span {
  const first = span.first > after ? span.first : after + 1n;
  const last = span.last < upTo ? span.last : upTo;
  if (first === span.first && last === span.last) return span;
  const start = skipFrames(span.bytes, Number(first - span.first));
  const rest = span.bytes.subarray(start);
  return {
    first,
    last,
    bytes: last === span.last ? rest : rest.subarray(0, skipFrames(rest, Number(last - first) + 1)),
  };
}

/** Consecutive spans as one. */
export function joinSpans(spans: readonly Span[]): Span {
  const [only] = spans;
  if (only && spans.length === 1) return only;
  return { first: spans[0]!.first, last: spans.at(-1)!.last, bytes: Buffer.concat(spans.map(({ bytes }) => bytes)) };
}
