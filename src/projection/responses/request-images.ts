// Images of a message: in bytes, as a data URL, or named by an https URL, which only the model's provider fetches.
import { HeddleError } from "../../thread/errors.js";
import { checkImages, type MessageImage } from "../../thread/images.js";
import { wrong } from "./errors.js";
import type { ContentPart } from "./request-shape.js";

type ImagePart = Extract<ContentPart, { type: "input_image" }>;

/** Throws an ApiError that names the part. */
export function readImages(
  content: readonly ContentPart[],
  { isUsers, param }: { readonly isUsers: boolean; readonly param: string },
): MessageImage[] {
  const found = content.flatMap((part, index) =>
    part.type === "input_image" ? [{ part, param: `${param}[${index}]` }] : [],
  );
  if (found[0] && !isUsers) throw wrong(found[0].param, "Images belong to messages of the user.", "invalid_value");
  const images = found.map(({ part, param: place }) => imageOf(part, place));
  try {
    checkImages(images, (index) => `${found[index]?.param}.image_url`);
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error;
    throw wrong(String((error.detail as { field?: string } | undefined)?.field), `${error.message}.`, "invalid_value");
  }
  return images;
}

function imageOf({ image_url: url, file_id: file, detail }: ImagePart, param: string): MessageImage {
  if (file)
    throw wrong(`${param}.file_id`, "There are no uploaded files here: give image_url.", "unsupported_parameter");
  if (!url) throw wrong(`${param}.image_url`, "image_url must be given.", "missing_required_parameter");
  if (!/^data:/i.test(url)) return { url, detail: detail ?? "" };
  const comma = url.indexOf(",");
  const [, mediaType = ""] = /^data:([a-z]+\/[a-z0-9.+-]+);base64$/i.exec(url.slice(0, Math.max(0, comma))) ?? [];
  return { mediaType: mediaType.toLowerCase(), base64: url.slice(comma + 1), detail: detail ?? "" };
}

/** As input items are listed: bytes are with the message, and not said twice. */
export const listedPart = (part: ContentPart): ContentPart =>
  part.type === "input_image" && part.image_url && /^data:/i.test(part.image_url) ? { ...part, image_url: null } : part;
