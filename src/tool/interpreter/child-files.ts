// The files that an interpreter's process needs: its own modules, and the packages of the interpreters. A built program has its
// modules beside itself. Sources are taken from what was built of them since they were last changed; else they are compiled here,
// for the process can load nothing that would have to be compiled.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { ChildSettings } from "./child/messages.js";

export interface ChildFiles {
  /** The module to run. */
  readonly entry: string;
  readonly modules: ChildSettings["modules"];
  /** Everything that has to be seen. */
  readonly readable: readonly string[];
}

const here = dirname(fileURLToPath(import.meta.url));
const isSource = import.meta.url.endsWith(".ts");

let known: ChildFiles | undefined;

export function childFiles(): ChildFiles {
  known ??= findFiles();
  return known;
}

function findFiles(): ChildFiles {
  const code = isSource
    ? builtOrCompiled()
    : { directory: join(here, "child"), manifest: join(here, "../../../../package.json") };
  const require = createRequire(import.meta.url);
  const pyodide = dirname(require.resolve("pyodide/package.json"));
  const quickjs = packageOf(require.resolve("quickjs-emscripten-core"));
  const variant = dirname(require.resolve("@jitl/quickjs-wasmfile-release-sync/package.json"));
  const types = packageOf(createRequire(join(quickjs, "package.json")).resolve("@jitl/quickjs-ffi-types"));
  return {
    entry: join(code.directory, "main.js"),
    modules: {
      pyodide: urlOf(pyodide, "pyodide.mjs"),
      quickjs: urlOf(quickjs, "dist/index.mjs"),
      quickjsVariant: urlOf(variant, "dist/index.mjs"),
    },
    readable: [code.directory, code.manifest, pyodide, quickjs, variant, types],
  };
}

const urlOf = (directory: string, file: string): string => pathToFileURL(join(realpathSync(directory), file)).href;

/** The directory above `dist`. */
const packageOf = (module: string): string => dirname(dirname(module));

interface Code {
  readonly directory: string;
  /** Says that the modules are modules. */
  readonly manifest: string;
}

function builtOrCompiled(): Code {
  const source = join(here, "child");
  const root = join(here, "../../..");
  const built = join(root, "dist/src/tool/interpreter/child");
  const names = readdirSync(source).filter((name) => name.endsWith(".ts"));
  const isBuilt = names.every((name) => changed(join(built, asModule(name))) > changed(join(source, name)));
  if (isBuilt) return { directory: built, manifest: join(root, "package.json") };
  return compiled(source, names);
}

/** Taken away when this process ends. */
function compiled(source: string, names: readonly string[]): Code {
  const require = createRequire(import.meta.url);
  const { transformSync } = createRequire(require.resolve("tsx/package.json"))("esbuild") as {
    transformSync(code: string, options: { loader: "ts"; format: "esm" }): { code: string };
  };
  const root = realpathSync(mkdtempSync(join(tmpdir(), "heddle-interpreter-")));
  process.once("exit", () => rmSync(root, { recursive: true, force: true }));
  const directory = join(root, "child");
  mkdirSync(directory);
  const manifest = join(root, "package.json");
  writeFileSync(manifest, '{ "type": "module" }');
  for (const name of names) {
    const { code } = transformSync(readFileSync(join(source, name), "utf8"), { loader: "ts", format: "esm" });
    writeFileSync(join(directory, asModule(name)), code);
  }
  return { directory, manifest };
}

const asModule = (name: string): string => name.replace(/\.ts$/, ".js");

function changed(path: string): number {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return 0;
  }
}
