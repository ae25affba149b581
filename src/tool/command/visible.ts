// Text as somebody must see it who decides by it: nothing in it hides, turns around or moves anything.

/** Line breaks stay; every other character without a shape of its own is written as its number. */
export const visible = (text: string): string =>
  text.replace(unseen, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);

const unseen = /(?![\n ])[\p{Cc}\p{Cf}\p{Cs}\p{Zs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
