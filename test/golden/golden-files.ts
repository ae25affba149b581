// The golden logs on disk.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** With UPDATE_GOLDEN=1 what is made replaces what is there. */
export const isUpdate = process.env["UPDATE_GOLDEN"] === "1";

const folder = fileURLToPath(new URL("lifecycle/", import.meta.url));
const suffix = ".jsonl";

export const pagePath = fileURLToPath(new URL("../../docs/lifecycle.md", import.meta.url));

export const readGolden = (name: string): string[] => readFileSync(pathOf(name), "utf8").trimEnd().split("\n");

export function writeGolden(name: string, lines: readonly string[]): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(pathOf(name), `${lines.join("\n")}\n`);
}

export const removeGolden = (name: string): void => rmSync(pathOf(name));

export const goldenNames = (): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(suffix))
    .map((name) => name.slice(0, -suffix.length));

const pathOf = (name: string): string => `${folder}${name}${suffix}`;
