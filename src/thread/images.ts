// Images that come with a message: what they may be. Their bytes are bodies, never in an event.
import { invalidField } from "./errors.js";
import { limits } from "./limits.js";

/** One that came in bytes, or one that is a URL, which only the model's provider fetches. */
export type MessageImage = ImageBytes | ImageUrl;

export interface ImageBytes {
  readonly mediaType: string;
  readonly base64: string;
  readonly detail: ImageDetail;
}

export interface ImageUrl {
  readonly url: string;
  readonly detail: ImageDetail;
}

/** How closely the model is to look. Empty: as it likes. */
export type ImageDetail = "" | "auto" | "low" | "high";

const details: readonly string[] = ["", "auto", "low", "high"] satisfies ImageDetail[];

export const isDetail = (text: string): text is ImageDetail => details.includes(text);

/** How each kind begins, one character a byte. */
const signatures: Readonly<Record<string, RegExp>> = {
  "image/png": /^\x89PNG\r\n/,
  "image/jpeg": /^\xff\xd8\xff/,
  "image/gif": /^GIF8[79]a/,
  "image/webp": /^RIFF.{4}WEBP/s,
};

export const imageTypes: readonly string[] = Object.keys(signatures);

/** Throws `invalid_field`: one that no provider takes would spoil every later reply of its thread. `fieldOf`: the name of an image. */
export function checkImages(images: readonly MessageImage[], fieldOf: (index: number) => string): void {
  if (images.length > limits.images.perMessage)
    throw invalidField(
      fieldOf(limits.images.perMessage),
      `is one too many: a message may have ${limits.images.perMessage}`,
    );
  for (const [index, image] of images.entries()) {
    const fault = "url" in image ? urlFault(image.url) : bytesFault(image);
    if (fault) throw invalidField(fieldOf(index), fault);
  }
}

function urlFault(url: string): string | undefined {
  const { urlUnits } = limits.images;
  if (url.length > urlUnits) return `may have at most ${urlUnits} characters where it is no data URL`;
  return /^https:\/\/[\x21-\x7e]+$/.test(url) && URL.canParse(url) ? undefined : "must be an https URL";
}

function bytesFault({ mediaType, base64 }: ImageBytes): string | undefined {
  const signature = signatures[mediaType];
  if (!signature) return `must be ${imageTypes.join(", ")}`;
  const { bytes } = limits.images;
  if ((base64.length * 3) / 4 - 2 > bytes) return `may have at most ${bytes} bytes`;
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return "must be base64 with padding";
  const beginning = Buffer.from(base64.slice(0, 32), "base64").toString("latin1");
  return signature.test(beginning) ? undefined : `is no ${mediaType}`;
}
