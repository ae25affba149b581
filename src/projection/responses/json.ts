// Looking into JSON of which nothing is known.

export type Json = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null;

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** An object; empty where the text is none. */
export function parsed(text: string): Json {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

export const textOf = (value: Json, field: string): string => (typeof value[field] === "string" ? value[field] : "");

export const listOf = (value: unknown, field: string): readonly Json[] => {
  const list = isObject(value) ? value[field] : undefined;
  return Array.isArray(list) ? list.filter(isObject) : [];
};
