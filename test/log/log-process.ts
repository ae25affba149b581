// Starts and drives fixtures/log-process.ts: a second process beside the test's own.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const fixture = fileURLToPath(new URL("./fixtures/log-process.ts", import.meta.url));
const node = [process.execPath, "--import", "tsx", fixture];

export interface LogProcessError {
  readonly code: string;
  readonly message: string;
  readonly detail: Record<string, unknown>;
}

export class LogProcess {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #errorOutput = "";

  /** `wrapper` stands before the command line, as `strace` or a shell with limits does. */
  constructor(wrapper: readonly string[] = [], environment: Record<string, string> = {}) {
    const [command, ...rest] = [...wrapper, ...node];
    this.#child = spawn(command!, rest, { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...environment } });
    this.#child.stderr!.on("data", (chunk) => (this.#errorOutput += chunk));
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** The result of a command; throws what it failed with. */
  async call<T = unknown>(name: string, argument: object = {}): Promise<T> {
    const answer = await this.#ask(name, argument);
    if (answer.error !== undefined) throw Object.assign(new Error(answer.error.message), answer.error);
    return answer.result as T;
  }

  /** The error that a command must fail with. */
  async fails(name: string, argument: object = {}): Promise<LogProcessError> {
    const answer = await this.#ask(name, argument);
    if (answer.error === undefined) throw new Error(`${name} succeeded: ${JSON.stringify(answer.result)}`);
    return answer.error;
  }

  /** Ends it like a power cut, as far as the process goes. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }

  /** Lets it end by itself. Resolves with its exit code. */
  async end(): Promise<number | null> {
    const gone = once(this.#child, "exit");
    this.#child.stdin!.end();
    const [code] = await gone;
    return code;
  }

  async #ask(name: string, argument: object): Promise<{ result?: unknown; error?: LogProcessError }> {
    this.#child.stdin!.write(`${JSON.stringify({ name, argument })}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`the process ended during ${name}:\n${this.#errorOutput}`);
    return JSON.parse(value);
  }
}
