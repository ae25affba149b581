// ThreadService over the verbs. StreamThreadEvents here is for JSON and compressed requests; binary ones take the lane.
import { ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { ThreadService, MessageImage as WireImage } from "../../../gen/heddle/v1/thread_service_pb.js";
import { invalidField } from "../../thread/errors.js";
import { isDetail, type MessageImage } from "../../thread/images.js";
import type { Threads } from "../../threads.js";

export const threadService = (threads: Threads): Partial<ServiceImpl<typeof ThreadService>> => ({
  createThread: async (request) => ({ thread: await threads.create(request) }),
  getThread: async (request) => ({ thread: await threads.get(request.threadId) }),
  listThreads: async ({ pageSize, pageToken }) => {
    const { threads: page, nextAfter } = await threads.list({ pageSize, after: pageToken });
    return { threads: page, nextPageToken: nextAfter };
  },
  deleteThread: async (request) => {
    await threads.delete(request.threadId);
    return {};
  },
  sendMessage: async ({ threadId, requestId, text, options, images }) => ({
    runId: await threads.send(threadId, { requestId, text, options, images: images.map(imageOf) }),
  }),
  cancelRun: async ({ threadId, runId }) => {
    await threads.cancelRun(threadId, runId);
    return {};
  },
  async *streamThreadEvents(request, { signal }) {
    yield* threads.follow(request, signal);
    // A stream that its deadline cut short has not ended well, and its caller is still there to be told.
    if (signal.reason instanceof ConnectError) throw signal.reason;
  },
  async *watchThreads(request, { signal }) {
    yield* threads.watch(request, signal);
    if (signal.reason instanceof ConnectError) throw signal.reason;
  },
});

function imageOf({ source, mediaType, detail }: WireImage, index: number): MessageImage {
  if (!isDetail(detail)) throw invalidField(`images[${index}].detail`, "must be low, high, auto or empty");
  if (source.case === "url") return { url: source.value, detail };
  if (source.case === "data") return { mediaType, base64: Buffer.from(source.value).toString("base64"), detail };
  throw invalidField(`images[${index}].source`, "must be set to data or url");
}
