// A sign of life that is heard where process ids cannot be seen: a socket in the data directory. A server in a container that shares the
// directory has process ids of its own, and may have the same host name; the kernel knows all the same whether somebody listens.
import { rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";

/** As long as the name of a socket may be everywhere. In a directory with a longer name, process ids must do. */
const nameBytes = 100;

const socketOf = (dir: string): string | undefined => {
  const path = join(dir, "owner.sock");
  return process.platform === "win32" || Buffer.byteLength(path) > nameBytes ? undefined : path;
};

/** Whether a process of this machine holds the directory. */
export function isHeard(dir: string): Promise<boolean> {
  const path = socketOf(dir);
  if (path === undefined) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (heard: boolean): void => {
      socket.destroy();
      resolve(heard);
    };
    socket.once("connect", () => settle(true));
    socket.once("error", () => settle(false));
  });
}

/** Contract: this process owns the directory. Returns what ends it. A directory that can hold no socket goes without. */
export function beHeard(dir: string): () => void {
  const path = socketOf(dir);
  if (path === undefined) return () => {};
  rmSync(path, { force: true }); // Left by one that was killed.
  const server = createServer((socket) => socket.destroy());
  server.on("error", () => {});
  server.listen(path);
  server.unref();
  return () => void server.close();
}
