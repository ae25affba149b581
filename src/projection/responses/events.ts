// The events of a response as they leave: numbered from 0 without a gap, at this one place, and encoded. The same response gives the
// same bytes whenever it is read.
import type { Responses, StoredResponse } from "../../responses.js";
import { HeddleError } from "../../thread/errors.js";
import type { BuiltInShape } from "./call-shapes.js";
import { type Bodies, join } from "./join.js";
import { ResponseFold } from "./project.js";
import type { ResponseRecord } from "./request.js";
import { responseId } from "./response-id.js";
import type { Frame } from "./wire-events.js";

export interface NumberedFrame {
  readonly number: number;
  readonly frame: Frame;
}

export interface Reading {
  readonly responses: Responses;
  readonly bodies: Bodies;
  readonly builtIn: BuiltInShape;
}

/** The fold before its first event. */
export function beginFold(stored: StoredResponse, builtIn: BuiltInShape): ResponseFold {
  const { echo } = JSON.parse(stored.record) as ResponseRecord;
  const { first, inputEnd } = stored;
  return new ResponseFold({ id: responseId(stored), echo, first, inputEnd, builtIn });
}

/** To its end, waiting for what is to come. Throws `shutting_down` where the server goes before it; ends where the signal says so. */
export async function* eventsOf(
  stored: StoredResponse,
  { responses, bodies, builtIn }: Reading,
  signal: AbortSignal,
): AsyncGenerator<NumberedFrame, ResponseFold> {
  const fold = beginFold(stored, builtIn);
  let number = 0;
  for await (const event of responses.follow(stored, signal)) {
    for (const frame of fold.take(await join(event, fold.wants(event), bodies))) yield { number: number++, frame };
    if (fold.isOver) break;
  }
  if (!fold.isOver && !signal.aborted)
    throw new HeddleError("shutting_down", "The server is closing: try again shortly");
  return fold;
}

/** One event in the protocol's own form. */
export const encoded = ({ number, frame: { type, ...rest } }: NumberedFrame): Buffer =>
  Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, ...rest })}\n\n`);

export const lastBytes = Buffer.from("data: [DONE]\n\n");
export const keepAlive = Buffer.from(": keep-alive\n\n");
