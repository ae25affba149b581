// What a call is about, of a tool whose input nobody here knows: its first short text.

/** What is shown of it. */
const shownUnits = 80;

/** `: the first short text of the input`, or nothing. */
export function firstWords(input: unknown): string {
  if (typeof input !== "object" || input === null) return "";
  const first = Object.values(input).find(
    (value): value is string => typeof value === "string" && value.trim() !== "" && value.length <= shownUnits,
  );
  return first === undefined ? "" : `: ${first}`;
}
