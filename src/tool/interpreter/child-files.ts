// The files that an interpreter's process needs: its own modules, and the packages of the interpreters. A built program has its
// modules beside itself. Sources are compiled here first: the process itself can load nothing that would have to be compiled.
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
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
    ? compiled()
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

/** Once for each state of the sources, beside what else is made of them. */
function compiled(): Code {
  const source = join(here, "child");
  const names = readdirSync(source).filter((name) => name.endsWith(".ts"));
  const texts = names.map((name) => readFileSync(join(source, name), "utf8"));
  const cache = join(here, "../../../node_modules/.cache");
  const root = join(
    cache,
    `heddle-interpreter-${createHash("sha1").update(texts.join("\0")).digest("hex").slice(0, 16)}`,
  );
  const code = { directory: join(root, "child"), manifest: join(root, "package.json") };
  if (existsSync(root)) return code;
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, "draft-"));
  mkdirSync(join(draft, "child"));
  writeFileSync(join(draft, "package.json"), '{ "type": "module" }');
  const require = createRequire(import.meta.url);
  const { transformSync } = createRequire(require.resolve("tsx/package.json"))("esbuild") as {
    transformSync(code: string, options: { loader: "ts"; format: "esm" }): { code: string };
  };
  names.forEach((name, index) => {
    const { code: text } = transformSync(texts[index]!, { loader: "ts", format: "esm" });
    writeFileSync(join(draft, "child", name.replace(/\.ts$/, ".js")), text);
  });
  moveTo(root, draft);
  return code;
}

/** Whole, or not at all: others may do the same at the same time, and one of them is enough. */
function moveTo(root: string, draft: string): void {
  try {
    renameSync(draft, root);
  } catch (reason) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(root)) throw reason;
  }
}
