// RecorderService over the verbs: for agent loops that run elsewhere. Almost all that they send is RecordEvents, and most of
// it is binary: that takes a lane.
import type { ServiceImpl } from "@connectrpc/connect";
import { type RecordEventsRequest, RecorderService } from "../../../gen/heddle/v1/recorder_service_pb.js";
import type { Door } from "../../server/exchange.js";
import { durationFromMs, durationMs } from "../../thread/time.js";
import type { Threads } from "../../threads.js";
import type { LaneOptions } from "./lane-call.js";
import { createUnaryLane } from "./unary-lane.js";

export const recorderService = (threads: Threads): Partial<ServiceImpl<typeof RecorderService>> => ({
  openRecording: async ({ threadId, producer, leaseDuration, takeOver }) => {
    const { leaseMs, ...opened } = await threads.openRecording(threadId, {
      producer,
      takeOver,
      leaseMs: leaseDuration && durationMs(leaseDuration),
    });
    return { ...opened, leaseDuration: durationFromMs(leaseMs) };
  },
  recordEvents: recordEvents(threads),
  closeRecording: async (request) => ({ headSequence: await threads.closeRecording(request.threadId, request) }),
});

export const createRecordLane = (threads: Threads, options: LaneOptions): Door =>
  createUnaryLane({ method: RecorderService.method.recordEvents, run: recordEvents(threads) }, options);

const recordEvents = (threads: Threads) => async (request: RecordEventsRequest) => {
  const { firstSequence, lastSequence } = await threads.record(request.threadId, request);
  return { firstSequence, lastSequence };
};
