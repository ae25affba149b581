// JavaScript, by QuickJS, in a thread of its own: an engine inside of WebAssembly, with nothing of Node's but what is handed to it.
import { parentPort, workerData } from "node:worker_threads";
import type { QuickJSContext, QuickJSHandle, QuickJSSyncVariant } from "quickjs-emscripten-core";
import { closeDoors } from "./close-doors.js";
import { JavaScriptFiles } from "./javascript-files.js";
import { javascriptPrelude } from "./javascript-prelude.js";
import type { CodeEnd, CodeError, LanguageSettings, ToLanguage } from "./messages.js";
import { OutputRing } from "./output-ring.js";
import { bounded, tell, tellEnd } from "./telling.js";

const pageBytes = 65_536;
/** What the engine was built for. */
const mostBytes = 2 * 1024 ** 3;
/** The engine's own stack is larger, but then it would overflow the thread's. */
const stackBytes = 256 * 1024;
/** Of promises, between two looks whether others are left. */
const jobsAtOnce = 10_000;

const settings = workerData as LanguageSettings;
const interrupt = new Uint8Array(settings.interrupt);
const files = new JavaScriptFiles(settings.scratch);
const output = new OutputRing(settings.output);
const vm = await start();
const show = prepare();
closeDoors();
let cells = 0;

parentPort!.on("message", ({ code, files: given }: ToLanguage) => {
  files.give(given);
  tellEnd(runCode(code), () => files.take());
});
tell({ type: "loaded" });

async function start(): Promise<QuickJSContext> {
  const { modules, memoryBytes } = settings;
  const core = (await import(modules.quickjs)) as typeof import("quickjs-emscripten-core");
  const { default: variant } = (await import(modules.quickjsVariant)) as { default: QuickJSSyncVariant };
  // The engine's own limit does not hold; that of its memory does.
  const maximum = Math.floor(Math.min(memoryBytes, mostBytes) / pageBytes);
  const wasmMemory = new WebAssembly.Memory({ initial: Math.min(256, maximum), maximum });
  const engine = await core.newQuickJSWASMModuleFromVariant(core.newVariant(variant, { wasmMemory }));
  const runtime = engine.newRuntime();
  runtime.setMaxStackSize(stackBytes);
  runtime.setInterruptHandler(() => interrupt[0] !== 0);
  return runtime.newContext();
}

/** Gives the engine what it may call. Returns what writes a value out. */
function prepare(): QuickJSHandle {
  const text = (handle: QuickJSHandle): string => vm.getString(handle);
  const offered = [
    vm.newFunction("print", (stream, line) => {
      // The engine itself looks only now and then.
      if (interrupt[0] !== 0) throw new Error("interrupted");
      output.write(text(stream) === "stderr" ? "stderr" : "stdout", Buffer.from(text(line)));
    }),
    vm.newFunction("read", (path, asBytes) => {
      const data = files.read(text(path));
      return vm.dump(asBytes) === true ? vm.newArrayBuffer(data.slice().buffer) : vm.newString(decoded(data));
    }),
    vm.newFunction("write", (path, data) => {
      files.write(text(path), vm.typeof(data) === "string" ? Buffer.from(text(data)) : bytesOf(data));
    }),
    vm.newFunction("list", () => vm.newString(JSON.stringify(files.list()))),
    vm.newFunction("remove", (path) => files.remove(text(path))),
  ];
  const prelude = vm.unwrapResult(vm.evalCode(javascriptPrelude, "heddle"));
  return vm.unwrapResult(vm.callFunction(prelude, vm.undefined, ...offered));
}

const decoded = (data: Uint8Array): string => new TextDecoder().decode(data);

function bytesOf(handle: QuickJSHandle): Uint8Array {
  const buffer = vm.getArrayBuffer(handle);
  const copy = buffer.value.slice();
  buffer.dispose();
  return copy;
}

function runCode(code: string): { end: CodeEnd; isBroken: boolean } {
  try {
    const result = vm.evalCode(code, `<cell ${++cells}>`);
    const failed = doTheRest();
    if (result.error) return { end: { error: errorOf(result.error) }, isBroken: false };
    if (failed === undefined) return { end: settled(result.value), isBroken: false };
    result.value.dispose();
    return { end: { error: failed }, isBroken: false };
  } catch (reason) {
    // Not the code's error but the engine's: nothing is sure any longer.
    const message = reason instanceof Error ? reason.message : String(reason);
    return { end: { error: { line: message, trace: message } }, isBroken: true };
  } finally {
    interrupt[0] = 0;
  }
}

/**
 * What the code has left to its promises, to the last of it: it would run in the next call otherwise. Where there is always more it
 * is interrupted like any other code. Returns what broke one of them off.
 */
function doTheRest(): CodeError | undefined {
  let first: CodeError | undefined;
  while (vm.runtime.hasPendingJob()) {
    const { error } = vm.runtime.executePendingJobs(jobsAtOnce);
    if (error === undefined) continue;
    const told = errorOf(error as QuickJSHandle);
    first ??= told;
  }
  return first;
}

/** A promise that is not settled by now never is. */
function settled(value: QuickJSHandle): CodeEnd {
  const state = vm.typeof(value) === "object" ? vm.getPromiseState(value) : undefined;
  if (state === undefined || (state.type === "fulfilled" && state.notAPromise)) return { value: shown(value) };
  value.dispose();
  if (state.type === "rejected") return { error: errorOf(state.error) };
  if (state.type === "fulfilled") return { value: shown(state.value) };
  return { value: "Promise { pending }: nothing here settles it, for there are no timers and no network" };
}

/** Undefined says nothing. */
function shown(value: QuickJSHandle): string | undefined {
  if (vm.typeof(value) === "undefined") return undefined;
  const written = vm.callFunction(show, vm.undefined, value);
  value.dispose();
  if (written.error) return errorOf(written.error).line;
  const text = bounded(vm.getString(written.value), settings.textUnits);
  written.value.dispose();
  return text;
}

function errorOf(handle: QuickJSHandle): CodeError {
  const said = vm.dump(handle) as unknown;
  handle.dispose();
  if (typeof said !== "object" || said === null) return toldError(`Uncaught ${String(said)}`, String(said));
  const { name = "Error", message = "", stack = "" } = said as Record<string, unknown>;
  const isStopped = name === "InternalError" && message === "interrupted";
  const line = isStopped ? "Interrupted" : `${String(name)}: ${String(message)}`;
  return toldError(line, `${line}\n${String(stack)}`);
}

const lineUnits = 2_000;

const toldError = (line: string, trace: string): CodeError => ({
  line: line.slice(0, lineUnits).split("\n")[0]!,
  trace: bounded(trace.trimEnd(), settings.textUnits),
});
