// Images of a message: their bytes become bodies under the message's id, in the append that holds its Completed.
import { create } from "@bufbuild/protobuf";
import type { EventLog, ThreadKey } from "../log/event-log.js";
import type { ThreadEvent } from "../thread/event.js";
import type { ToolCallId } from "../thread/ids.js";
import type { ImageDetail, MessageImage } from "../thread/images.js";
import { limits } from "../thread/limits.js";
import { type Attachment, AttachmentSchema } from "../thread/schema.js";
import type { Violation } from "../thread/state.js";
import type { ThreadDraft } from "./thread-draft.js";

/** What the message's Completed says of them. */
export function addImages(draft: ThreadDraft, messageId: string, images: readonly MessageImage[]): Attachment[] {
  return images.map((image, index) => {
    const { detail } = image;
    if ("url" in image) return create(AttachmentSchema, { url: image.url, detail });
    const contentId = `image-${index}`;
    const bytes = Buffer.from(image.base64, "base64");
    for (let offset = 0; offset < bytes.length; offset += limits.contentChunkBytes)
      draft.addBody({
        ...bodyOf(messageId, contentId),
        offset,
        bytes: bytes.subarray(offset, offset + limits.contentChunkBytes),
      });
    const { mediaType } = image;
    return create(AttachmentSchema, { contentId, mediaType, sizeBytes: BigInt(bytes.length), detail });
  });
}

/** Only what is stored with the message can be told of: a producer has no way to send it. */
export function attachmentViolation({ payload }: ThreadEvent, { bodies }: ThreadDraft): Violation | undefined {
  if (payload.case !== "messageCompleted") return undefined;
  const { messageId, attachments } = payload.value;
  const missing = attachments.some(
    ({ contentId }) =>
      contentId !== "" && !bodies.some((body) => body.callId === messageId && body.contentId === contentId),
  );
  return missing
    ? { state: "created", rule: "attachments may only have a url: their bytes are not stored" }
    : undefined;
}

/** Undefined when its body is not there. */
export async function readImage(
  log: EventLog,
  key: ThreadKey,
  { messageId, attachment }: { readonly messageId: string; readonly attachment: Attachment },
): Promise<MessageImage | undefined> {
  const { contentId, url, mediaType, detail: asked } = attachment;
  const detail = asked as ImageDetail;
  if (url !== "") return { url, detail };
  const pieces: Uint8Array[] = [];
  for (let offset = 0; offset < attachment.sizeBytes; ) {
    const range = { offset, maxBytes: limits.contentChunkBytes };
    const piece = await log.readBody(key, bodyOf(messageId, contentId), range);
    if (!piece?.length) return undefined;
    pieces.push(piece);
    offset += piece.length;
  }
  return { mediaType, base64: Buffer.concat(pieces).toString("base64"), detail };
}

const bodyOf = (messageId: string, contentId: string) => ({ callId: messageId as ToolCallId, contentId });
