// One interpreter: a process of its own behind a wall, with limits of the kernel on its memory, looked at from outside besides.
// It is told to load a language or to run code, one piece at a time, and can be ended at any moment.
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { realpathSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import type { Readable, Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { type ControlGroup, openControlGroup } from "../command/control-group.js";
import { killProcesses } from "../command/end-processes.js";
import { LiveProcesses } from "../command/live-processes.js";
import { markName } from "../command/process-table.js";
import { spawnAlone } from "../command/spawn-alone.js";
import { type Excess, type ProcessLimits, watchProcesses } from "../command/watch-processes.js";
import { ToolFailure } from "../tool.js";
import { bounds } from "./bounds.js";
import type { ChildSettings, FromChild, Language, ToChild } from "./child/messages.js";
import { childFiles } from "./child-files.js";
import { hear } from "./heard.js";
import type { Wall } from "./wall.js";

export interface ProcessSettings {
  readonly wall: Wall;
  readonly memoryBytes: number;
  /** The module that runs in it. Undefined: the interpreter's own. */
  readonly entry?: string;
}

/** Why it is over. `ended`: by us, for nobody needs it. */
export type ProcessCause = "ended" | "crashed" | Excess;

const errorUnits = 4_096;

export class InterpreterProcess {
  readonly pid: number;
  /** Languages that are there. */
  readonly loaded = new Set<Language>();
  /** Resolves when it is over, with why. */
  readonly over: Promise<ProcessCause>;
  /** Whoever is to hear what it says. */
  onMessage: (message: FromChild) => void = () => {};
  /** The last that it said before it broke. */
  lastWords = "";
  readonly #child: ChildProcess;
  readonly #live: LiveProcesses;
  readonly #group: ControlGroup | undefined;
  readonly #limits: ProcessLimits;
  readonly #loading = new Map<Language, Promise<void>>();
  readonly #onLoaded = new Map<Language, () => void>();
  #cause: ProcessCause | undefined;
  #isOver = false;

  /** Throws a ToolFailure when it cannot be started. */
  static async start(settings: ProcessSettings): Promise<InterpreterProcess> {
    const mark = `interpreter.${randomUUID()}`;
    const child = await startChild(settings, mark).catch((cause: NodeJS.ErrnoException) => {
      throw notStarted(cause);
    });
    if (child.pid === undefined) {
      const [cause] = (await once(child, "error")) as [NodeJS.ErrnoException];
      throw notStarted(cause);
    }
    return new InterpreterProcess(child, settings, mark);
  }

  private constructor(child: ChildProcess, { memoryBytes }: ProcessSettings, mark: string) {
    this.#child = child;
    this.pid = child.pid!;
    this.#group = openControlGroup(bounds.tasks);
    this.#group?.add(this.pid);
    this.#live = new LiveProcesses(this.pid, mark, this.#group);
    this.#limits = { processes: bounds.processes, memoryBytes: memoryBytes + bounds.slackBytes };
    preferToServer(this.pid);
    child.on("error", () => {});
    child.stdin!.on("error", () => {});
    hear(
      child.stdout as Readable,
      (message) => this.#hear(message),
      () => this.#endWrong(),
    );
    child.stderr!.on("data", (piece: Buffer) => {
      this.lastWords = (this.lastWords + piece.toString("latin1")).slice(-errorUnits);
    });
    const idle = setInterval(() => this.#look(), bounds.idleLookMs).unref();
    this.over = once(child, "exit").then(async () => {
      clearInterval(idle);
      this.#isOver = true;
      // What it may have started.
      await killProcesses(this.#ended());
      this.#group?.remove();
      return this.#cause ?? (ranOutOfMemory.test(this.lastWords) ? "too_much_memory" : "crashed");
    });
    this.#letGo();
  }

  get isOver(): boolean {
    return this.#isOver || this.#cause !== undefined;
  }

  say(message: ToChild): void {
    this.#child.stdin!.write(`${JSON.stringify(message)}\n`);
  }

  /** Resolves when the language is there. Rejects with a ToolFailure when it does not come, and then the process is over. */
  load(language: Language): Promise<void> {
    const known = this.#loading.get(language);
    if (known) return known;
    const loading = this.#load(language);
    loading.catch(() => {});
    this.#loading.set(language, loading);
    return loading;
  }

  async #load(language: Language): Promise<void> {
    const loaded = new Promise<"loaded">((resolve) => this.#onLoaded.set(language, () => resolve("loaded")));
    const time = new AbortController();
    const late = pause(bounds.loadMs, "late" as const, { signal: time.signal, ref: false }).catch(
      () => "late" as const,
    );
    this.say({ type: "load", language });
    const first = await Promise.race([loaded, this.over, late]).finally(() => time.abort());
    if (first === "loaded") return;
    await this.end("crashed");
    throw new ToolFailure(
      `The interpreter did not start${first === "late" ? " in time" : ""}; try again, or go on without it`,
      { code: first === "too_much_memory" ? "ENOMEM" : "EAGAIN", cause: this.lastWords },
    );
  }

  /** As it is when the server is gone: it ends by itself. */
  hangUp(): void {
    this.#child.stdin!.destroy();
  }

  /** Looks at what it uses all the time, and ends it when that is too much. The function that it returns stops that. */
  watch(): () => void {
    return watchProcesses(this.#live, this.#limits, (excess) => void this.end(excess));
  }

  /** Kills it. Resolves when nothing is left. */
  async end(cause: ProcessCause = "ended"): Promise<void> {
    this.#cause ??= cause;
    if (!this.#isOver) await killProcesses(this.#ended());
    await this.over;
  }

  #hear(message: FromChild): void {
    if (message.type === "loaded") {
      this.loaded.add(message.language);
      this.#onLoaded.get(message.language)?.();
    }
    if (message.type === "broken") this.lastWords = message.message;
    this.onMessage(message);
  }

  #endWrong(): void {
    this.lastWords = "It said what no interpreter says";
    void this.end("crashed");
  }

  #look(): void {
    const found = this.#live.look();
    const bytes = found.reduce((sum, process) => sum + process.bytes, 0);
    if (found.length > this.#limits.processes) void this.end("too_many_processes");
    else if (bytes > this.#limits.memoryBytes) void this.end("too_much_memory");
  }

  #ended(): Parameters<typeof killProcesses>[0] {
    return { root: this.pid, live: this.#live, isKeeper: () => false };
  }

  /** A server that is done may end: the process ends when nobody holds its input any longer. */
  #letGo(): void {
    this.#child.unref();
    for (const stream of this.#child.stdio) (stream as { unref?(): void } | null)?.unref?.();
  }
}

/** What Node, the kernel and the languages say of it. */
const ranOutOfMemory = /out of memory|allocation failed|ENOMEM|bad_alloc|ERR_WORKER_OUT_OF_MEMORY|memory limit/i;

/** `$1` is in KiB. A limit that cannot be set leaves the others. */
const limited = 'ulimit -c 0 2>/dev/null; ulimit -d "$1" 2>/dev/null; ulimit -f 0 2>/dev/null; shift; exec "$@"';

async function startChild({ wall, memoryBytes, entry }: ProcessSettings, mark: string): Promise<ChildProcess> {
  const files = childFiles();
  const settings: ChildSettings = {
    modules: files.modules,
    memoryBytes,
    scratch: bounds.scratch,
    textUnits: bounds.textUnits,
  };
  const node = [
    realpathSync(process.execPath),
    ...["--disallow-code-generation-from-strings", "--no-addons", "--no-warnings", "--max-old-space-size=128"],
    entry ?? files.entry,
    JSON.stringify(settings),
  ] as const;
  const { argv, rules } = wall.hold(node, entry === undefined ? files.readable : [...files.readable, entry]);
  const dataKib = Math.ceil((memoryBytes + bounds.slackBytes) / 1_024);
  const child = await spawnAlone("/bin/sh", ["-c", limited, "sh", String(dataKib), ...argv], {
    cwd: "/",
    env: { [markName]: mark },
    detached: true,
    stdio: ["pipe", "pipe", "pipe", rules === undefined ? "ignore" : "pipe"],
  });
  const rulesPipe = child.stdio[3] as Writable | null;
  rulesPipe?.on("error", () => {});
  rulesPipe?.end(rules);
  return child;
}

/** When memory runs out, the kernel shall end the interpreter and not the server. */
function preferToServer(pid: number): void {
  writeFile(`/proc/${pid}/oom_score_adj`, "500").catch(() => {});
}

const notStarted = (cause: NodeJS.ErrnoException): ToolFailure =>
  new ToolFailure(`The interpreter could not be started (${cause.code ?? "unknown error"}); try again later`, {
    code: cause.code ?? "",
    cause,
  });
