// The package's version. Found by walking up: the sources and the compiled files lie at different depths.
import { readFileSync } from "node:fs";

const highestStep = 5;

export function packageVersion(): string {
  for (let step = 1, up = "../"; step <= highestStep; step++, up += "../") {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL(`${up}package.json`, import.meta.url), "utf8"));
      if (name === "heddle") return version;
    } catch {
      // Not in this directory: the next one up.
    }
  }
  return "unknown";
}
