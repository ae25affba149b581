// Values of a provider's JSON, none of which is taken on trust: servers that imitate a wire leave out and mistype fields.

export type Fields = Readonly<Record<string, unknown>>;

/** The fields of an object; none of anything else. */
export const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Empty for anything but text. */
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Undefined for anything but a whole number from 0. */
export const countOf = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;

/** Undefined for anything but the text of a JSON object. */
export function parsedObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
