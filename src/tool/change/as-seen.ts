// A text as whoever reads it sees it: without byte-order mark, and with plain line ends where all of them are Windows'. A model
// cannot see either, so what it writes about the text has neither; what is written back has them again.

export interface SeenText {
  readonly text: string;
  /** Every line ends as on Windows; here it does not. */
  readonly isWindows: boolean;
  /** A text in place of this one, with the marks and line ends of this one. */
  restored(text: string): string;
}

const mark = "\ufeff";

export function asSeen(whole: string): SeenText {
  const hasMark = whole.startsWith(mark);
  const text = hasMark ? whole.slice(mark.length) : whole;
  // A second carriage return would be lost on the way back.
  const isWindows = text.includes("\r\n") && !/(?<!\r)\n|\r\r\n/.test(text);
  return {
    text: isWindows ? text.replaceAll("\r\n", "\n") : text,
    isWindows,
    restored: (changed) => {
      const withEnds = isWindows ? withPlainEnds(changed).replaceAll("\n", "\r\n") : changed;
      return hasMark && !withEnds.startsWith(mark) ? mark + withEnds : withEnds;
    },
  };
}

export const withPlainEnds = (text: string): string => text.replaceAll("\r\n", "\n");
