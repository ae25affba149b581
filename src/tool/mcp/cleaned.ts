// Every text inside a value, without secrets. Keys stay as they are.

/** What is nested deeper is left out: no honest value is. */
const deepest = 64;

export function cleaned(value: unknown, clean: (text: string) => string, depth = 0): unknown {
  if (typeof value === "string") return clean(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > deepest) return undefined;
  if (Array.isArray(value)) return value.map((inner) => cleaned(inner, clean, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cleaned(inner, clean, depth + 1)]));
}
