// What of a message can name a source: all but its blocks of code, which are programs and quotations and cite nothing.

/** Blocks of code as blanks, so that every place keeps its number. A block that nobody closes lasts to the end. */
export function withoutCodeBlocks(text: string): string {
  if (!/```|~~~/.test(text)) return text;
  let fence: string | undefined;
  return text.replace(/^[^\n]+$/gm, (line) => {
    if (fence === undefined) {
      fence = /^[ \t]*(`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[1];
      return fence === undefined ? line : blank(line);
    }
    const end = /^[ \t]*(`{3,}|~{3,})[ \t]*$/.exec(line)?.[1];
    if (end?.startsWith(fence)) fence = undefined;
    return blank(line);
  });
}

const blank = (line: string): string => " ".repeat(line.length);
