// An MCP server that is a program of ours to run: started with nothing open but its own streams, in a process group of its own, and
// ended whole, with whatever it has started; also when Heddle itself is killed (command/guard.ts).
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { endProcesses, killProcesses } from "../command/end-processes.js";
import { commandEnvironment } from "../command/environment.js";
import type { Guard, Guarded } from "../command/guard.js";
import { LiveProcesses, markName } from "../command/live-processes.js";
import { spawnAlone } from "../command/spawn-alone.js";
import { oneLine } from "../words.js";
import { bounds } from "./bounds.js";
import { lineReader } from "./message-lines.js";
import { SessionError } from "./session.js";

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** Beside what every program is given to find its way. May be secret. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

export interface ProcessEvents {
  onLine(line: Buffer): void;
  onErrorLine(line: string): void;
  /** It is over, and nothing is left of it. `reason`: how, for people. */
  onOver(reason: string): void;
}

export class StdioProcess {
  readonly #child: ChildProcess;
  readonly #live: LiveProcesses;
  readonly #over: Promise<void>;
  #isTooLong = false;

  /** Rejects with a SessionError when it cannot be started. */
  static async start(program: Program, guard: Guard, events: ProcessEvents): Promise<StdioProcess> {
    const guarded = await guard.guard().catch((cause: unknown) => {
      throw notStarted(program, cause);
    });
    try {
      const mark = `mcp.${randomUUID()}${guarded.markEnd}`;
      const child = await spawned(program, mark);
      guarded.began(child.pid!);
      return new StdioProcess(child, mark, { guarded, events });
    } catch (cause) {
      guarded.over();
      throw cause instanceof SessionError ? cause : notStarted(program, cause);
    }
  }

  private constructor(
    child: ChildProcess,
    mark: string,
    { guarded, events }: { guarded: Guarded; events: ProcessEvents },
  ) {
    this.#child = child;
    this.#live = new LiveProcesses(child.pid!, mark);
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream!.on("error", () => {});
    const onTooLong = (): void => {
      this.#isTooLong = true;
      void this.#kill();
    };
    child.stdout!.on("data", lineReader({ maxBytes: bounds.messageBytes, onLine: events.onLine, onTooLong }));
    const onLine = (line: Buffer): void => events.onErrorLine(line.toString("utf8"));
    const cut = (): void => events.onErrorLine("[a line that was too long]");
    child.stderr!.on("data", lineReader({ maxBytes: 4 * bounds.logUnits, onLine, onTooLong: cut }));
    this.#over = this.#untilOver().then((reason) => {
      guarded.over();
      events.onOver(reason);
    });
  }

  /** One message, on one line. Resolves when it is on its way. */
  send(line: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#child.stdin!.write(`${line}\n`, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Its input ends, as the protocol wants it; a server that does not care is ended. Resolves when nothing is left. */
  async end(): Promise<void> {
    this.#child.stdin!.end();
    const late = new AbortController();
    const waited = pause(bounds.closeMs / 2, undefined, { signal: late.signal }).catch(() => {});
    await Promise.race([this.#over, waited]);
    late.abort();
    if (this.#child.exitCode === null && this.#child.signalCode === null) await endProcesses(this.#ended());
    await this.#over;
  }

  async #untilOver(): Promise<string> {
    const [code, signal] = (await once(this.#child, "exit")) as [number | null, NodeJS.Signals | null];
    // What it printed last may say why; what it started may hold its output open.
    await Promise.race([once(this.#child, "close"), pause(100, undefined, { ref: false })]);
    await this.#kill();
    this.#child.stdout!.destroy();
    this.#child.stderr!.destroy();
    if (this.#isTooLong) return "it sent a message that is too long";
    return signal === null ? `its process has ended with code ${code}` : `its process was ended by ${signal}`;
  }

  #kill(): Promise<number> {
    return killProcesses(this.#ended());
  }

  #ended(): Parameters<typeof killProcesses>[0] {
    return { root: this.#child.pid!, live: this.#live, isKeeper: () => false };
  }
}

async function spawned({ command, args, env, cwd }: Program, mark: string): Promise<ChildProcess> {
  const child = await spawnAlone(command, args, {
    cwd,
    env: { ...commandEnvironment(process.env, []), ...env, [markName]: mark },
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  if (child.pid === undefined) throw (await once(child, "error"))[0];
  child.on("error", () => {}); // Of a signal that could not be sent; none is sent through it.
  return child;
}

function notStarted({ command, cwd }: Program, cause: unknown): SessionError {
  const { code = "" } = cause as NodeJS.ErrnoException;
  const name = oneLine(command);
  const words =
    code === "ENOENT"
      ? `there is no program ${name}, or no directory ${oneLine(cwd)}: check command and cwd`
      : code === "EACCES"
        ? `${name} may not be run: check its permissions`
        : `${name} could not be started (${code || "unknown error"})`;
  return new SessionError({ kind: "unreachable", code }, words, cause);
}
