// The images of a conversation that a model is shown: the newest ones, as many as it may have. In place of the others stand words.
import type { EventLog, ThreadKey } from "../log/event-log.js";
import { readImage } from "../recorder/attachments.js";
import type { MessageImage } from "../thread/images.js";
import { limits } from "../thread/limits.js";
import type { Attachment } from "../thread/schema.js";

/** An image of a message, where it is stored. */
export interface StoredImage {
  readonly messageId: string;
  readonly attachment: Attachment;
}

export interface ToldImages {
  readonly images: readonly MessageImage[];
  /** What is said of those that are left out. Empty: none is. */
  readonly words: string;
}

/** Which of all images are shown. Contract: in the order of the conversation. */
export function shownImages(all: readonly StoredImage[]): ReadonlySet<StoredImage> {
  const shown = new Set<StoredImage>();
  let bytes = 0;
  for (const image of all.toReversed()) {
    bytes += Number(image.attachment.sizeBytes);
    if (shown.size >= limits.images.perRequest || bytes > limits.images.requestBytes) break;
    shown.add(image);
  }
  return shown;
}

export async function tellImages(
  log: EventLog,
  key: ThreadKey,
  { stored, shown }: { readonly stored: readonly StoredImage[]; readonly shown: ReadonlySet<StoredImage> },
): Promise<ToldImages> {
  const images: MessageImage[] = [];
  for (const image of stored) {
    const told = shown.has(image) ? await readImage(log, key, image) : undefined;
    if (told) images.push(told);
  }
  const missing = stored.length - images.length;
  const words = missing === 0 ? "" : `(${missing === 1 ? "An image" : `${missing} images`} of this message left out)`;
  return { images, words };
}
