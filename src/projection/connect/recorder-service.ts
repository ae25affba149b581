// RecorderService over the verbs: for agent loops that run elsewhere.
import type { ServiceImpl } from "@connectrpc/connect";
import type { RecorderService } from "../../../gen/heddle/v1/recorder_service_pb.js";
import { durationFromMs, durationMs } from "../../thread/time.js";
import type { Threads } from "../../threads.js";

export const recorderService = (threads: Threads): Partial<ServiceImpl<typeof RecorderService>> => ({
  openRecording: async ({ threadId, producer, leaseDuration, takeOver }) => {
    const { leaseMs, ...opened } = await threads.openRecording(threadId, {
      producer,
      takeOver,
      leaseMs: leaseDuration && durationMs(leaseDuration),
    });
    return { ...opened, leaseDuration: durationFromMs(leaseMs) };
  },
  recordEvents: async (request) => {
    const { firstSequence, lastSequence } = await threads.record(request.threadId, request);
    return { firstSequence, lastSequence };
  },
  closeRecording: async (request) => ({ headSequence: await threads.closeRecording(request.threadId, request) }),
});
