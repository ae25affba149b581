// How a person has to type this program's name: who started it with npx has it nowhere else.
import type { Environment } from "../config.js";

/** What npm and npx tell the programs that they start: which name was asked for, and as what. */
export const programNameIn = ({
  npm_lifecycle_event: event,
  npm_lifecycle_script: script = "",
}: Environment): string => (event === "npx" && /^\W*heddle\b/.test(script) ? "npx heddle" : "heddle");

export const programName = programNameIn(process.env);
