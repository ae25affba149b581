// Lives outside of the server and kills what the server left running when it died without a word. A sandbox ends with the server by
// itself; without one, and in the moment before a sandbox is there, this is all there is. It does not find a process that has
// cleared its environment, made a session of its own and lost its parent, unless there are control groups.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import { controlGroupPrefix } from "../command/control-group.js";
import { markName } from "../command/process-table.js";
import { ToolFailure } from "../tool.js";
import { guardScript } from "./guard-script.js";

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
  #watcher: ChildProcessByStdio<Writable, null, null> | undefined;
  #restarts = 0;

  /** To be called before a process is started. Rejects with a ToolFailure when nobody can guard it. */
  async guard(): Promise<Guarded> {
    const process: { pid?: number } = {};
    this.#guarded.add(process);
    try {
      await this.#watch();
    } catch (error) {
      this.#guarded.delete(process);
      throw error;
    }
    return {
      markEnd: this.#markEnd,
      began: (pid) => {
        process.pid = pid;
        this.#tell();
      },
      over: () => {
        if (!this.#guarded.delete(process)) return;
        if (this.#guarded.size > 0) this.#tell();
        else this.#dismiss();
      },
    };
  }

  async #watch(): Promise<void> {
    if (this.#watcher) return;
    const args = ["-c", guardScript, "heddle-guard", this.#markEnd, markName, controlGroupPrefix() ?? ""];
    // A session of its own: whatever ends the server's group must not end this.
    const watcher = spawn("/bin/sh", args, {
      cwd: "/",
      env: { PATH: process.env["PATH"] },
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    this.#watcher = watcher;
    watcher.stdin.on("error", () => {}); // It was ended: see below.
    watcher.on("exit", () => this.#exited(watcher));
    // It keeps nobody waiting: it ends with the server.
    watcher.unref();
    (watcher.stdin as Socket).unref();
    if (watcher.pid === undefined) {
      this.#watcher = undefined;
      const [cause] = (await once(watcher, "error")) as [NodeJS.ErrnoException];
      throw new ToolFailure(`Nobody could see to its end (${cause.code}); go on without background processes`, {
        code: cause.code ?? "",
        cause,
      });
    }
    watcher.on("error", () => {});
    this.#tell();
  }

  #tell(): void {
    const pids = [...this.#guarded].flatMap(({ pid }) => pid ?? []);
    this.#watcher?.stdin.write(`${pids.join(" ")}\n`);
  }

  #dismiss(): void {
    this.#watcher?.stdin.end("over\n");
    this.#watcher = undefined;
  }

  /** Somebody else has ended it. */
  #exited(watcher: unknown): void {
    if (this.#watcher !== watcher) return;
    this.#watcher = undefined;
    if (this.#guarded.size > 0 && this.#restarts++ < mostRestarts) this.#watch().catch(() => {});
  }
}
