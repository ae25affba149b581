// Where a word begins. Most keys are only looked for there, so that "task-" holds no "sk-". The end of an escape counts
// too: in the raw JSON `"\nghp_…"`, in `%3Dghp_…` and behind a colour code the letter before the key is not of its word.

/** How many units before a word tell whether it begins there. */
export const unitsBefore = 11;

const edge =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes begin with one.
  /(?:^|[^A-Za-z0-9]|\\[bfnrt]|%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\x1b\[[0-9;]{0,8}m)$/;

/** May a word begin behind this? Given at least `unitsBefore` units of what there is. */
export const endsWord = (before: string): boolean => edge.test(before.slice(-unitsBefore));

export const isWordUnit = (unit: number): boolean =>
  (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x41 && unit <= 0x5a) || isDigit(unit);

export const isDigit = (unit: number): boolean => unit >= 0x30 && unit <= 0x39;
