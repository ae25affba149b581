// Binds the socket, or says in words what stands in the way.
import type { AddressInfo, Server } from "node:net";
import { HeddleError } from "../thread/errors.js";
import { unbracketed } from "./bind-policy.js";
import type { ServerOptions } from "./options.js";

type Address = ServerOptions["listen"];

/** Resolves with what was really bound (port 0 picks a free one). Rejects with `invalid_config`. */
export function listen(server: Server, { host, port }: Address): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(explained(error, { host, port }));
    server.on("error", fail);
    server.listen({ host: unbracketed(host), port }, () => {
      server.off("error", fail);
      resolve(server.address() as AddressInfo);
    });
  });
}

function explained(error: NodeJS.ErrnoException, { host, port }: Address): HeddleError {
  const where = `${host}:${port}`;
  const remedies: Record<string, string> = {
    EADDRINUSE: `${where} is in use: stop the process that listens there, or listen on another port (0 picks a free one)`,
    EACCES: `no permission to listen on ${where}: choose a port above 1023`,
    EADDRNOTAVAIL: `${where} is not an address of this machine: listen on 127.0.0.1, or on one that it has`,
    ENOTFOUND: `the host of ${where} cannot be resolved: listen on 127.0.0.1, or on a name that can`,
  };
  const message = remedies[error.code ?? ""] ?? `cannot listen on ${where}: ${error.message}`;
  return new HeddleError("invalid_config", message, { cause: error, detail: { field: "listen" } });
}
