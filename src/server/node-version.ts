// The oldest release of each Node line whose known HTTP/2 holes are closed.
const patched: Readonly<Record<number, readonly [minor: number, patch: number]>> = {
  20: [20, 2],
  22: [22, 2],
  24: [14, 1],
};

const newestKnownLine = 24;

/** One line for the start-up log, or undefined when there is nothing to say. Takes `v22.1.0` or `22.1.0`. */
export function nodeVersionWarning(version: string = process.version): string | undefined {
  const [major = 0, minor = 0, patch = 0] = version
    .replace(/^v/, "")
    .split(".")
    .map((part) => Number.parseInt(part, 10));
  const needed = patched[major];
  if (needed === undefined) {
    if (major > newestKnownLine) return undefined;
    return `Node ${version} belongs to a line without security fixes: use Node 22 or 24`;
  }
  if (minor > needed[0] || (minor === needed[0] && patch >= needed[1])) return undefined;
  return `Node ${version} has known security holes in HTTP/2: update to ${major}.${needed[0]}.${needed[1]} or newer`;
}
