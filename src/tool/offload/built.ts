// Where a thread finds its module. A built program has it beside itself. Sources have to be compiled by each thread that loads
// them, which takes half a second: where they were built since they were last changed, the thread takes what was built.
import { readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const isSource = import.meta.url.endsWith(".ts");
const builtRoot = new URL("../../../dist/src/tool/", import.meta.url);
const sourceRoot = new URL("../", import.meta.url);

/** The module `name` beside the one at `here`. */
export function moduleBeside(here: string, name: string): URL {
  const module = new URL(`./${name}${here.endsWith(".ts") ? ".ts" : ".js"}`, here);
  if (!isSource || !isBuilt() || !module.href.startsWith(sourceRoot.href)) return module;
  return new URL(module.href.slice(sourceRoot.href.length).replace(/\.ts$/, ".js"), builtRoot);
}

/** What a thread starts with that is to do the module's job (thread.ts). */
export const threadEntry = (module: URL): ThreadEntry =>
  module.href.endsWith(".ts")
    ? entryOf(new URL("./thread.ts", import.meta.url))
    : entryOf(moduleBeside(import.meta.url, "thread"));

export interface ThreadEntry {
  readonly entry: URL | string;
  readonly eval: boolean;
}

/** What a thread starts with that is to run the module: the module, or code that lets it load sources. */
export function entryOf(module: URL): ThreadEntry {
  if (!module.href.endsWith(".ts")) return { entry: module, eval: false };
  const compiler = JSON.stringify(import.meta.resolve("tsx/esm/api"));
  const source = JSON.stringify(module);
  return { entry: `import(${compiler}).then(({ register }) => (register(), import(${source})));`, eval: true };
}

let known: boolean | undefined;

function isBuilt(): boolean {
  known ??= oldest(builtRoot, ".js") > newest(sourceRoot, ".ts");
  return known;
}

const newest = (root: URL, ending: string): number => Math.max(0, ...changes(root, ending));
const oldest = (root: URL, ending: string): number => Math.min(...changes(root, ending), Number.MAX_VALUE);

/** When each file was changed. None where there is no such directory: nothing is older than nothing. */
function changes(root: URL, ending: string): number[] {
  const directory = fileURLToPath(root);
  try {
    const names = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(ending));
    return names.length > 0 ? names.map((name) => statSync(`${directory}${name}`).mtimeMs) : [0];
  } catch {
    return [0];
  }
}
