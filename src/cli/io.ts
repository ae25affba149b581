// What a command may touch of the process, so that tests can run one without starting another process.
import type { Environment } from "../config.js";
import { captureOutput } from "./foreign-output.js";
import { processInput } from "./process-input.js";

export interface Output {
  readonly isTTY: boolean;
  /** Columns of the terminal; undefined when there is none. */
  readonly columns: number | undefined;
  /** Rows of the terminal; undefined when there is none. */
  readonly rows: number | undefined;
  /** Resolves when the reader can take more. Rejects with EPIPE when the reader has left. */
  write(data: string | Uint8Array): Promise<void>;
}

export interface Input {
  readonly isTTY: boolean;
  /**
   * Calls the listener with what is typed, until the returned function is called; then the terminal is as it was. `keys`: each
   * key at once, and none of them is shown by the terminal. `lines`: when a line is complete. Ctrl-C is a SIGINT in both.
   */
  onTyped(mode: "keys" | "lines", listener: (text: string) => void): () => void;
}

export type SignalName = "SIGINT" | "SIGTERM";

export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: Input;
  readonly env: Environment;
  /** Calls the listener for each SIGINT and SIGTERM from now on. */
  onSignal(listener: (name: SignalName) => void): void;
  /** Calls the listener when the process ends, however it does; until the returned function is called. What it writes to a terminal arrives. */
  onExit(listener: () => void): () => void;
  /** Calls the listener with each line that others in the process print, in place of printing it; until the returned function is called. */
  onForeignOutput(listener: (line: string) => void): () => void;
  /** Leaves at once, whatever is open. */
  exit(code: number): void;
}

export function processIo(): Io {
  return {
    stdout: output(process.stdout),
    stderr: output(process.stderr),
    stdin: processInput(),
    env: process.env,
    onSignal(listener) {
      for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => listener(name));
    },
    onExit(listener) {
      process.on("exit", listener);
      return () => process.off("exit", listener);
    },
    onForeignOutput: captureOutput,
    exit: (code) => process.exit(code),
  };
}

function output(stream: NodeJS.WriteStream): Output {
  // The error also reaches the callback of the write that failed; without a listener it would end the process with a trace.
  stream.on("error", () => {});
  const write = stream.write.bind(stream); // Now: what others write may be taken later.
  return {
    isTTY: stream.isTTY === true,
    get columns() {
      return stream.isTTY === true ? stream.columns : undefined;
    },
    get rows() {
      return stream.isTTY === true ? stream.rows : undefined;
    },
    write: (data) =>
      new Promise((resolve, reject) => {
        write(data, (error) => (error ? reject(error) : resolve()));
      }),
  };
}
