// Lists of tools by name, in which one that ends with `*` stands for all that begin so.

export const isNamed = (names: readonly string[], name: string): boolean =>
  names.some((pattern) => (pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern));
