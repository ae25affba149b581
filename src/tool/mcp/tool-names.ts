// What models call the tools of a server: `mcp__server__tool`, of characters that every provider takes, at most 64 of them, each name
// once. The same tools get the same names whatever order they come in: policy goes by them.
import { createHash } from "node:crypto";
import { mcpPrefix } from "../policy.js";

const longest = 64;
const hashUnits = 8;

/** By the server's own names; one that is there twice is there once. */
export function toolNames(serverLabel: string, names: readonly string[]): ReadonlyMap<string, string> {
  const prefix = mcpPrefix(serverLabel);
  const unique = [...new Set(names)];
  const plain = new Map(unique.map((name) => [name, `${prefix}${name.replace(/[^a-zA-Z0-9_-]/g, "_")}`]));
  const owners = new Map<string, number>();
  for (const full of plain.values()) owners.set(full, (owners.get(full) ?? 0) + 1);
  const isExact = (name: string, full: string): boolean => full === `${prefix}${name}`;
  return new Map(
    unique.map((name) => {
      const full = plain.get(name)!;
      const isClear = full.length <= longest && (owners.get(full) === 1 || isExact(name, full));
      return [name, isClear ? full : `${full.slice(0, longest - hashUnits - 1)}_${hashOf(name)}`];
    }),
  );
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, hashUnits);
