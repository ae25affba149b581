// Lives outside of the server and kills what the server left running when it died without a word. A sandbox ends with the server by
// itself; without one, and in the moment before a sandbox is there, this is all there is. It does not find a process that has
// cleared its environment, made a session of its own and lost its parent, unless there are control groups.
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import { ToolFailure } from "../tool.js";
import { controlGroupPrefix } from "./control-group.js";
import { guardScript } from "./guard-script.js";
import { markName } from "./process-table.js";
import { spawnAlone } from "./spawn-alone.js";

export interface Guarded {
  /** What the mark of the process must end with. */
  readonly markEnd: string;
  /** It runs: the leader of its own process group. */
  began(pid: number): void;
  /** It has ended, or never began. */
  over(): void;
}

/** Somebody who kills it again and again wants it dead. */
const mostRestarts = 20;

/** There while there is something to guard. */
export class Guard {
  readonly #markEnd = `.${randomUUID()}`;
  readonly #guarded = new Set<{ pid?: number }>();
  #watcher: Promise<Watcher> | undefined;
  #restarts = 0;

  /** To be called before a process is started. Rejects with a ToolFailure when nobody can guard it. */
  async guard(): Promise<Guarded> {
    const process: { pid?: number } = {};
    this.#guarded.add(process);
    const over = (): void => {
      if (!this.#guarded.delete(process)) return;
      if (this.#guarded.size > 0) this.#tell();
      else this.#dismiss();
    };
    try {
      await this.#watch();
    } catch (cause) {
      over();
      const { code = "" } = cause as NodeJS.ErrnoException;
      const words = "Nobody could see to its end, should the server die; try again later";
      throw new ToolFailure(words, { code, cause });
    }
    const began = (pid: number): void => {
      process.pid = pid;
      this.#tell();
    };
    return { markEnd: this.#markEnd, began, over };
  }

  #watch(): Promise<Watcher> {
    this.#watcher ??= this.#start().catch((error: unknown) => {
      this.#watcher = undefined;
      throw error;
    });
    return this.#watcher;
  }

  async #start(): Promise<Watcher> {
    const args = ["-c", guardScript, "heddle-guard", this.#markEnd, markName, controlGroupPrefix() ?? ""];
    const child: ChildProcess = await spawnAlone("/bin/sh", args, {
      cwd: "/",
      env: { PATH: process.env["PATH"] },
      // A session of its own: whatever ends the server's group must not end this.
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    const stdin = child.stdin as Socket;
    stdin.on("error", () => {}); // It was ended: see below.
    // It keeps nobody waiting: it ends with the server.
    child.unref();
    stdin.unref();
    if (child.pid === undefined) throw (await once(child, "error"))[0];
    child.on("error", () => {});
    child.on("exit", () => void this.#exited(stdin));
    return { stdin };
  }

  #tell(): void {
    const pids = [...this.#guarded].flatMap(({ pid }) => pid ?? []);
    void this.#watcher?.then(({ stdin }) => stdin.write(`${pids.join(" ")}\n`)).catch(() => {});
  }

  #dismiss(): void {
    void this.#watcher?.then(({ stdin }) => stdin.end("over\n")).catch(() => {});
    this.#watcher = undefined;
  }

  /** Somebody else has ended it, unless it was dismissed. */
  async #exited(stdin: Socket): Promise<void> {
    const watcher = await this.#watcher?.catch(() => undefined);
    if (watcher?.stdin !== stdin) return;
    this.#watcher = undefined;
    if (this.#guarded.size === 0 || this.#restarts++ >= mostRestarts) return;
    await this.#watch().catch(() => {});
    this.#tell();
  }
}

interface Watcher {
  readonly stdin: Socket;
}
