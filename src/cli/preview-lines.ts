// What a person is shown before saying yes: line by line, with everything in it to be seen. Nothing acts on the terminal, and
// what takes no room there or passes for a space is spelt out: it would be approved unseen.
import { type Line, lineOf } from "./live-view-line.js";
import { type Style, safeLine } from "./terminal.js";

const diffTypes: readonly string[] = ["text/x-diff", "text/x-patch"];
const tab = "    ";
const unseen = /[\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** Each line of the text; those of a diff are painted. */
export function previewLines(text: string, mediaType: string): Line[] {
  const isDiff = diffTypes.includes(mediaType.split(";")[0]!.trim().toLowerCase());
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => lineOf(spelt(line), isDiff ? paintOf(line) : undefined));
}

const spelt = (line: string): string =>
  safeLine(line.replaceAll("\t", tab)).replace(unseen, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);

function paintOf(line: string): keyof Style | undefined {
  if (/^(?:\+\+\+|---) /.test(line)) return "bold";
  return paints[line.charAt(0)];
}

const paints: Readonly<Record<string, keyof Style>> = { "+": "green", "-": "red", "@": "cyan", "\\": "dim" };

/** Undefined when it is not text. */
export function textOf(data: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    return undefined;
  }
}
