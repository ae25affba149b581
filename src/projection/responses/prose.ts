// What of a message can name a source: all but its blocks of code, which are programs and quotations and cite nothing.

/** Blocks of code as blanks, so that every place keeps its number. A block that nobody closes lasts to the end. */
export function withoutCodeBlocks(text: string): string {
  if (!/```|~~~/.test(text)) return text;
  let fence: string | undefined;
  return text.replace(/^[^\n]+$/gm, (line) => {
    const rest = line.replace(margin, "");
    if (fence === undefined) {
      fence = /^(?:`{3,}(?=[^`]*$)|~{3,})/.exec(rest)?.[0];
      return fence === undefined ? line : blank(line);
    }
    if (rest.startsWith(fence) && /^(?:`+|~+)\s*$/.test(rest)) fence = undefined;
    return blank(line);
  });
}

/** Of quotations and lists. */
const margin = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])+/;

const blank = (line: string): string => " ".repeat(line.length);
