// A process to run commands in, and a server to run them against, both made of plain objects.
import { createServer } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { DocumentService } from "../../gen/heddle/v1/document_service_pb.js";
import { ThreadService } from "../../gen/heddle/v1/thread_service_pb.js";
import { ToolCallService } from "../../gen/heddle/v1/tool_call_service_pb.js";
import { ToolService } from "../../gen/heddle/v1/tool_service_pb.js";
import type { Input, Io, Output, SignalName } from "../../src/cli/io.js";
import { runCli } from "../../src/cli/run.js";

export interface FakeIo extends Io {
  readonly stdout: FakeOutput;
  readonly stderr: FakeOutput;
  readonly stdin: FakeInput;
  readonly exits: number[];
  /** Those that wait for the end of the process. */
  readonly exitListeners: Set<() => void>;
  signal(name: SignalName): void;
  /** A line that somebody else in the process prints. */
  prints(line: string): void;
}

export interface FakeOutput extends Output {
  text: string;
  bytes(): Buffer;
  /** Called with each write, before it is kept. May throw, as a pipe without a reader does. */
  onWrite: (data: string) => void;
}

export interface FakeInput extends Input {
  /** How what is typed is read at this moment; undefined: nobody listens. */
  readonly mode: "keys" | "lines" | undefined;
  /** What nobody listens to is lost. */
  types(text: string): void;
  /** Called when somebody begins to listen. */
  onListen: () => void;
}

interface FakeIoOptions {
  isTTY?: boolean;
  columns?: number;
  rows?: number;
  env?: Record<string, string>;
}

export function fakeIo(options: FakeIoOptions = {}): FakeIo {
  const listeners: ((name: SignalName) => void)[] = [];
  const exits: number[] = [];
  const exitListeners = new Set<() => void>();
  const foreign = new Set<(line: string) => void>();
  return {
    stdout: fakeOutput(options),
    stderr: fakeOutput(options),
    stdin: fakeInput(options),
    env: options.env ?? {},
    exits,
    onSignal: (listener) => listeners.push(listener),
    signal: (name) => {
      for (const listener of listeners) listener(name);
    },
    prints(line) {
      for (const listener of foreign) listener(line);
    },
    onForeignOutput(listener) {
      foreign.add(listener);
      return () => foreign.delete(listener);
    },
    exitListeners,
    onExit(listener) {
      exitListeners.add(listener);
      return () => exitListeners.delete(listener);
    },
    exit(code) {
      exits.push(code);
      for (const listener of exitListeners) listener();
    },
  };
}

function fakeInput({ isTTY = false }: FakeIoOptions): FakeInput {
  let listening: { mode: "keys" | "lines"; listener: (text: string) => void } | undefined;
  return {
    isTTY,
    get mode() {
      return listening?.mode;
    },
    types: (text) => listening?.listener(text),
    onListen: () => {},
    onTyped(mode, listener) {
      if (listening !== undefined) throw new Error("somebody listens already");
      listening = { mode, listener };
      this.onListen();
      return () => {
        listening = undefined;
      };
    },
  };
}

function fakeOutput({ isTTY = false, columns, rows }: FakeIoOptions): FakeOutput {
  const pieces: Buffer[] = [];
  return {
    isTTY,
    columns,
    rows,
    text: "",
    onWrite: () => {},
    bytes: () => Buffer.concat(pieces),
    async write(data) {
      const piece = Buffer.from(data);
      this.onWrite(piece.toString());
      pieces.push(piece);
      this.text += piece.toString();
    },
  };
}

/** Runs a command line and resolves with its exit code and what it printed. */
export async function heddle(args: readonly string[], io: FakeIo = fakeIo()) {
  const code = await runCli(args, io);
  return { code, stdout: io.stdout.text, stderr: io.stderr.text };
}

export interface FakeServer extends AsyncDisposable {
  readonly url: string;
  /** The authorization header of each request. */
  readonly authorizations: (string | null)[];
  /** Ends every connection, as a broken network does. */
  cut(): void;
}

/** A plaintext HTTP/2 server with the given answers. */
export async function fakeServer(
  threads: Partial<ServiceImpl<typeof ThreadService>>,
  toolCalls: Partial<ServiceImpl<typeof ToolCallService>> = {},
  tools: Partial<ServiceImpl<typeof ToolService>> = {},
  documents: Partial<ServiceImpl<typeof DocumentService>> = {},
): Promise<FakeServer> {
  const authorizations: (string | null)[] = [];
  const server = createServer(
    connectNodeAdapter({
      interceptors: [
        (next) => (request) => {
          authorizations.push(request.header.get("authorization"));
          return next(request);
        },
      ],
      routes: (router) =>
        router
          .service(ThreadService, threads)
          .service(ToolCallService, toolCalls)
          .service(ToolService, tools)
          .service(DocumentService, documents),
    }),
  );
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket.on("close", () => sockets.delete(socket))));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    authorizations,
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
