// How a person has to type this program's name: who started it with npx, or with `npm start` in its own folder, has it nowhere else.
import type { Environment } from "../config.js";

/** What npm and npx tell the programs that they start: which name was asked for, as what, and in whose folder. */
export function programNameIn({
  npm_lifecycle_event: event,
  npm_lifecycle_script: script = "",
  npm_package_name: folder,
}: Environment): string {
  const isNpx = event === "npx" && /^\W*heddle\b/.test(script);
  const isStart = event === "start" && folder === "heddle";
  return isNpx || isStart ? "npx heddle" : "heddle";
}

export const programName = programNameIn(process.env);
