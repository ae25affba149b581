// Takes Node away from a thread before somebody else's code runs in it: ordinary code has no way to files, programs or the network
// then. It is no wall: whoever finds another way to Node's insides has what the process has. The wall is around the process.
import { createRequire, syncBuiltinESMExports } from "node:module";

/** pyodide itself runs programs (`os.system`), reads files (NODEFS) and opens sockets through these. */
const modules = [
  ...["child_process", "cluster", "dgram", "dns", "dns/promises", "fs", "fs/promises", "http", "http2", "https"],
  ...["inspector", "module", "net", "os", "readline", "repl", "tls", "v8", "vm", "wasi", "worker_threads"],
];

const globals = ["fetch", "WebSocket", "EventSource", "Worker", "BroadcastChannel", "navigator", "require", "module"];
/** Nothing is to be left that would run when the code is over. */
const timers = ["setTimeout", "setInterval", "setImmediate", "MessageChannel"];

const ofProcess = [
  ...[
    "kill",
    "_kill",
    "binding",
    "_linkedBinding",
    "dlopen",
    "getBuiltinModule",
    "abort",
    "reallyExit",
    "exit",
    "chdir",
  ],
  ...["_debugProcess", "_debugEnd", "_startProfilerIdleNotifier", "setuid", "setgid", "umask"],
];

/** All that code which was written for Node looks at. */
const harmless = { versions: { node: process.versions.node }, platform: process.platform, argv: [], env: {} };

const refuse = (): never => {
  throw new Error("Not available here");
};

export function closeDoors(): void {
  const require = createRequire(import.meta.url);
  // All of them first: the last ones could not be had through closed ones.
  const found = modules.map((name) => require(`node:${name}`) as Record<string, unknown>);
  for (const module of found) closeModule(module);
  syncBuiltinESMExports();
  for (const name of ofProcess) Reflect.set(process, name, refuse);
  for (const name of timers) Reflect.set(globalThis, name, refuse);
  for (const name of globals) Reflect.deleteProperty(globalThis, name);
  Object.defineProperty(globalThis, "process", { value: harmless, writable: true, configurable: false });
}

function closeModule(module: Record<string, unknown>): void {
  for (const name of Object.keys(module)) {
    const value = Object.getOwnPropertyDescriptor(module, name)?.value as unknown;
    if (typeof value === "function") Reflect.set(module, name, refuse);
  }
}
