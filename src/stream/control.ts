// The frames that are about the stream itself: sequence 0, never stored.
import { newEvent, type ThreadEventInit } from "../thread/event.js";
import { encodeFrame } from "../thread/frame.js";
import type { ClosingReason } from "../thread/schema.js";
import { now } from "../thread/time.js";

const control = (threadId: string, payload: NonNullable<ThreadEventInit["payload"]>): Buffer =>
  encodeFrame(newEvent({ threadId, time: now(), payload }));

export const readyFrame = (threadId: string, head: bigint): Buffer =>
  control(threadId, { case: "ready", value: { headSequence: head, firstSequence: head > 0n ? 1n : 0n } });

export const caughtUpFrame = (threadId: string, head: bigint): Buffer =>
  control(threadId, { case: "caughtUp", value: { headSequence: head } });

export const heartbeatFrame = (threadId: string, after: bigint): Buffer =>
  control(threadId, { case: "heartbeat", value: { afterSequence: after } });

export const closingFrame = (threadId: string, reason: ClosingReason): Buffer =>
  control(threadId, { case: "closing", value: { reason } });
