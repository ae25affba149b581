// Tools that an operator brings: ES modules whose default export is a tool or a list of tools. They are the operator's own code
// and run with all its rights; what is checked here is that mistakes are told at the start, with the file that must change.
import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import { HeddleError } from "../thread/errors.js";
import { cleanSummary } from "../thread/summary.js";
import { definitionProblem } from "./check-definition.js";
import { defineTool, type ToolDefinition } from "./tool.js";

/** How long a module may take to load: one that waits for something that never comes must not keep the server from starting. */
const loadMs = 30_000;
const reasonUnits = 300;

/** Contract: paths are absolute. Rejects with `invalid_config` that names the first file that is wrong, and what to do. */
export async function loadToolModules(paths: readonly string[]): Promise<ToolDefinition[]> {
  const origins = new Map<string, string>();
  const tools: ToolDefinition[] = [];
  // One after the other: modules may depend on the order in which the operator lists them.
  for (const path of paths) {
    for (const tool of toolsIn(path, await load(path))) {
      const other = origins.get(tool.name);
      if (other !== undefined) throw refused(path, repeated(tool.name, path, other));
      origins.set(tool.name, path);
      tools.push(tool);
    }
  }
  return tools;
}

async function load(path: string): Promise<unknown> {
  if (!isAbsolute(path)) throw refused(path, "the path must be absolute; write it from the root of the file system");
  await refuseMissing(path);
  const timeUp = new AbortController();
  const timer = setTimeout(() => timeUp.abort(), loadMs);
  try {
    const module = (await Promise.race([import(pathToFileURL(path).href), aborted(timeUp.signal)])) as object;
    return "default" in module ? module.default : undefined;
  } catch (cause) {
    throw timeUp.signal.aborted
      ? refused(path, `it did not load within ${loadMs / 1000} seconds; look for an await at its top that never ends`)
      : refused(path, `it cannot be loaded (${reasonWords(cause)}); ${adviceFor(cause)}`, cause);
  } finally {
    clearTimeout(timer);
  }
}

async function refuseMissing(path: string): Promise<void> {
  const found = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    const why =
      cause.code === "ENOENT" ? "there is no such file" : `it cannot be read (${cause.code ?? "unknown error"})`;
    throw refused(path, `${why}; give the path of an ES module (.js or .mjs)`, cause);
  });
  if (!found.isFile()) throw refused(path, "it is not a file; give the path of an ES module (.js or .mjs)");
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

function toolsIn(path: string, exported: unknown): readonly ToolDefinition[] {
  if (exported === undefined)
    throw refused(path, "it has no default export; write `export default defineTool({ … })`, or a list of tools");
  return (Array.isArray(exported) ? (exported as readonly unknown[]) : [exported]).map((value) => {
    const problem = definitionProblem(value);
    if (problem !== undefined) throw refused(path, `its default export is not a tool or a list of tools: ${problem}`);
    return defineTool(value as ToolDefinition);
  });
}

const repeated = (name: string, path: string, other: string): string =>
  path === other
    ? `it gives two tools the name "${name}", or stands in the list twice; rename one, or list it once`
    : `its tool "${name}" has the name of one in ${other}; rename one`;

/** Node finds packages beside the module that imports them, not beside the server. */
const adviceFor = (cause: unknown): string =>
  (cause as NodeJS.ErrnoException | undefined)?.code === "ERR_MODULE_NOT_FOUND"
    ? "install what it imports where it stands (npm install heddle zod), or take it out of the list"
    : "correct it, or take it out of the list";

const reasonWords = (cause: unknown): string =>
  cleanSummary(cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause), reasonUnits);

const refused = (path: string, problem: string, cause?: unknown): HeddleError =>
  new HeddleError("invalid_config", `${path}: ${problem}`, { detail: { field: "agent.tools" }, cause });
