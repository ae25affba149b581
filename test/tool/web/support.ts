import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect as connectNet, type Socket } from "node:net";
import type { Connect } from "../../../src/tool/web/connect.js";
import type { GuardedFetch } from "../../../src/tool/web/guarded-fetch.js";
import type { Network } from "../../../src/tool/web/settings.js";

/** An address of the internet that no test connects to: the network below leads everything to one local port. */
export const publicAddress = "93.184.216.34";

export const settings = { allowHosts: [], maxBytes: 1_000_000, timeoutMs: 20_000, search: undefined } as const;

export class LocalServer {
  readonly #server: Server;
  readonly port: number;
  readonly sockets: Set<Socket>;

  private constructor(server: Server, sockets: Set<Socket>) {
    this.#server = server;
    this.sockets = sockets;
    this.port = (server.address() as AddressInfo).port;
  }

  static async start(answer: RequestListener, server = createServer(answer)): Promise<LocalServer> {
    const sockets = new Set<Socket>();
    server.on("connection", (socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new LocalServer(server, sockets);
  }

  /** For `allowHosts`, and in a URL. */
  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/**
 * A network without a way out. Names get the answers of the table, one after another and then the last for ever; every
 * connection, wherever it should go, is noted and led to the local port, or refused where there is none.
 */
export class FakeNetwork implements Network {
  readonly asked: string[] = [];
  readonly connections: string[] = [];
  readonly #answers: Map<string, (readonly string[])[]>;
  readonly #port: number | undefined;

  constructor(names: Readonly<Record<string, readonly (readonly string[])[]>> = {}, port?: number) {
    this.#answers = new Map(Object.entries(names).map(([name, answers]) => [name, [...answers]]));
    this.#port = port;
  }

  readonly resolver = async (name: string): Promise<readonly string[]> => {
    this.asked.push(name);
    const answers = this.#answers.get(name);
    if (answers === undefined) throw Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
    return answers.length > 1 ? answers.shift()! : answers[0]!;
  };

  readonly connect: Connect = async ({ address }) => {
    this.connections.push(address);
    if (this.#port === undefined) throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    const socket = connectNet({ host: "127.0.0.1", port: this.#port });
    await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    return socket;
  };
}

export const options = (given: Partial<GuardedFetch> = {}): GuardedFetch => ({
  signal: new AbortController().signal,
  ...settings,
  ...given,
});
