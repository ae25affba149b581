// How many columns of a terminal a text takes. Terminals differ in rare scripts; what matters is that nothing is wider than
// it is taken for, or a line would wrap where none is expected.

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
const plain = /^[\x20-\x7e]*$/;
const invisible = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]+$/u;
const emoji = /\p{Emoji_Presentation}|\ufe0f/u;

/** East Asian Wide and Fullwidth (UAX 11), by blocks. */
const wideRanges: readonly (readonly [first: number, last: number])[] = [
  [0x1100, 0x115f],
  [0x2329, 0x232a],
  [0x2e80, 0x303e],
  [0x3041, 0x4dbf],
  [0x4e00, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18d08],
  [0x1aff0, 0x1b2ff],
  [0x1f200, 0x1f2ff],
  [0x20000, 0x3fffd],
];

export function widthOf(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** As much of the text as fits, cut between characters as people see them. */
export function headWithin(text: string, columns: number): string {
  if (plain.test(text)) return text.slice(0, Math.max(0, columns));
  let width = 0;
  for (const { segment, index } of graphemes.segment(text)) {
    width += graphemeWidth(segment);
    if (width > columns) return text.slice(0, index);
  }
  return text;
}

function graphemeWidth(grapheme: string): number {
  if (invisible.test(grapheme)) return 0;
  const code = grapheme.codePointAt(0)!;
  return emoji.test(grapheme) || wideRanges.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}
