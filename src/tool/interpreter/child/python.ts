// Python, by pyodide, in a thread of its own. Its files are in memory: the scratch folder is its working directory.
import { parentPort, workerData } from "node:worker_threads";
import type { PyodideAPI } from "pyodide";
import { closeDoors } from "./close-doors.js";
import type { CodeEnd, LanguageSettings, ToLanguage } from "./messages.js";
import { OutputRing, type Stream } from "./output-ring.js";
import { PythonFiles } from "./python-files.js";
import { pythonPrelude } from "./python-prelude.js";
import { tell, tellEnd } from "./telling.js";

const folder = "/scratch";

const settings = workerData as LanguageSettings;
boundMemory(settings.memoryBytes);
const { loadPyodide } = (await import(settings.modules.pyodide)) as typeof import("pyodide");
const python = await loadPyodide({
  indexURL: new URL(".", settings.modules.pyodide).pathname,
  // Nothing of JavaScript's is to be had from Python.
  jsglobals: {},
  env: { HOME: folder, PYTHONINSPECT: "", LANG: "C.UTF-8" },
});
const output = new OutputRing(settings.output);
const files = new PythonFiles(python, folder, settings.scratch);
const run = prepare(python);
closeDoors();

parentPort!.on("message", ({ code, files: given }: ToLanguage) => {
  for (const path of files.give(given)) output.write("stderr", Buffer.from(`No room in Python's folder for ${path}\n`));
  tellEnd(runCode(code), () => files.take());
});
tell({ type: "loaded" });

function prepare(pyodide: PyodideAPI): (code: string, units: number) => string {
  const stream = (name: Stream) => ({
    isatty: false,
    write: (data: Uint8Array) => {
      output.write(name, data);
      return data.length;
    },
  });
  pyodide.setStdout(stream("stdout"));
  pyodide.setStderr(stream("stderr"));
  pyodide.setStdin({ stdin: () => null });
  pyodide.setInterruptBuffer(new Uint8Array(settings.interrupt));
  const own = pyodide.toPy({}) as ReturnType<typeof pyodide.globals.get>;
  pyodide.runPython(pythonPrelude, { globals: own, filename: "<heddle>" });
  for (const name of ["js", "pyodide_js"]) pyodide.unregisterJsModule(name);
  return own.get("run") as (code: string, units: number) => string;
}

function runCode(code: string): { end: CodeEnd; isBroken: boolean } {
  try {
    const { value, line, trace } = JSON.parse(run(code, settings.textUnits)) as Record<string, string | undefined>;
    return {
      end: line === undefined ? { value: value ?? undefined } : { error: { line, trace: trace ?? line } },
      isBroken: false,
    };
  } catch (reason) {
    const isBroken = (reason as { pyodide_fatal_error?: boolean }).pyodide_fatal_error === true || !isAlive();
    const message = reason instanceof Error ? reason.message.trim() : String(reason);
    const line = message.split("\n").at(-1)!.slice(0, 2_000);
    return { end: { error: { line, trace: message.slice(-settings.textUnits) } }, isBroken };
  } finally {
    new Uint8Array(settings.interrupt)[0] = 0;
  }
}

/** After an error of its own, such as a stack that has overflown, pyodide does nothing more. */
function isAlive(): boolean {
  try {
    return python.runPython("1") === 1;
  } catch {
    return false;
  }
}

/** The only limit of Python's memory that holds: code that wants more gets a MemoryError. */
function boundMemory(bytes: number): void {
  const pageBytes = 65_536;
  const prototype = WebAssembly.Memory.prototype;
  const grow = prototype.grow;
  prototype.grow = function (this: WebAssembly.Memory, pages: number): number {
    if (this.buffer.byteLength + pages * pageBytes > bytes) throw new RangeError("The memory is used up");
    return grow.call(this, pages);
  };
}
