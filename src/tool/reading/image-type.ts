// Pictures that models can look at, known by their first bytes, whatever their names say.

/** As many bytes as are looked at. */
const signatureBytes = 13;

/** The media type. Undefined: not a picture of a sort that models take. */
export function imageType(start: Uint8Array): string | undefined {
  const text = Buffer.from(start.buffer, start.byteOffset, Math.min(start.length, signatureBytes)).toString("latin1");
  if (text.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (text.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(text) && hasScreen(text)) return "image/gif";
  if (text.startsWith("RIFF") && text.slice(8, 12) === "WEBP") return "image/webp";
  return undefined;
}

/** Letters may stand at the start of a text too. In a picture its size follows, in bytes that no text has. */
const hasScreen = (gif: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  gif.length === signatureBytes && /[\0-\x08\x0b\x0c\x0e-\x1f]/.test(gif.slice(6));
