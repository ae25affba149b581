// The real command, built, in processes of its own: what scripts and people see of it.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { grpcClients } from "../support/clients.js";
import { newDataDir, removeDataDir, startServerProcess } from "../support/server-process.js";
import { recordThread } from "./record-thread.js";

const command = join(import.meta.dirname, "../../dist/src/cli/main.js");
const children: ChildProcess[] = [];

let dataDir: string;
beforeAll(async () => {
  dataDir = await newDataDir();
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(() => removeDataDir(dataDir));

interface Run {
  readonly child: ChildProcess;
  readonly stdout: string;
  readonly stderr: string;
  readonly ended: Promise<unknown>;
  /** Resolves when standard output has so many lines. */
  lines(count: number): Promise<string[]>;
}

function start(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Run {
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
  children.push(child);
  const run = {
    child,
    stdout: "",
    stderr: "",
    ended: once(child, "close"),
    async lines(count: number) {
      while (run.stdout.split("\n").length <= count) await once(child.stdout, "data");
      return run.stdout.split("\n").slice(0, count);
    },
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    run.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    run.stderr += text;
  });
  return run;
}

const heddle = (...args: string[]) => start(process.execPath, [command, ...args]);

/** Runs to the end. */
async function result(run: Run) {
  await run.ended;
  return { code: run.child.exitCode, stdout: run.stdout, stderr: run.stderr };
}

const upTo = (n: number) => Array.from({ length: n }, (_, index) => index + 1);
const sequencesOf = (lines: string[]) => lines.map((line) => Number(JSON.parse(line).sequence));

describe("heddle serve", () => {
  test.each(["SIGTERM", "SIGINT"] as const)("prints one line, logs JSON, and ends with 0 on %s", async (name) => {
    const server = heddle("serve", "--listen", "127.0.0.1:0", "--data", dataDir);
    const [line] = await server.lines(1);
    expect(line).toMatch(/^heddle listening on http:\/\/127\.0\.0\.1:\d+$/);
    server.child.kill(name);
    const { code, stdout, stderr } = await result(server);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${line}\n` });
    const messages = stderr
      .trim()
      .split("\n")
      .map((each) => JSON.parse(each).msg);
    expect(messages.at(-1)).toBe("closed");
  });

  test("a second signal ends it at once", async () => {
    const server = heddle("serve", "--listen", "127.0.0.1:0", "--data", dataDir);
    const [line] = await server.lines(1);
    // A request whose body never comes keeps the server waiting for its drain deadline.
    const socket = connect(Number(new URL(line!.split(" ").at(-1)!).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.write(
      "POST /heddle.v1.ThreadService/CreateThread HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 10\r\nexpect: 100-continue\r\n\r\n",
    );
    await once(socket, "data"); // The interim answer: the request is open.
    server.child.kill("SIGTERM");
    while (!server.stderr.includes("closing")) await once(server.child.stderr!, "data");
    server.child.kill("SIGTERM");
    expect(await result(server)).toMatchObject({ code: 143 });
    socket.destroy();
  });

  test("a start that fails is one line and code 1", async () => {
    const owner = await startServerProcess({ dataDir });
    try {
      const second = await result(heddle("serve", "--listen", "127.0.0.1:0", "--data", dataDir));
      expect(second).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(/^heddle: .* is in use by process \d+.*\n$/),
      });
    } finally {
      await owner.stop();
    }
    const open = await result(heddle("serve", "--listen", "0.0.0.0:0", "--data", dataDir));
    expect(open).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/^heddle: .*0\.0\.0\.0.*tokens.*\n$/),
    });
  });
});

describe("heddle follow", () => {
  test("S1: goes on through a kill and a restart, and leaves with 130 on Ctrl-C", async () => {
    let server = await startServerProcess({ dataDir });
    try {
      const { threadId, piece, record } = await recordThread(server.url, 20);
      const follower = heddle("follow", threadId, "--json", "--server", server.url);
      await follower.lines(30);
      await record([piece(21), piece(22)]);
      await follower.lines(32);
      await server.kill();
      server = await startServerProcess({ dataDir, port: server.port });
      // The restarted server ends what the dead producer's lease still holds when somebody takes the thread over.
      const { recorder, threads } = grpcClients(server.url);
      await recorder.openRecording({ threadId, producer: "another", takeOver: true });
      const { thread } = await threads.getThread({ threadId });
      const head = Number(thread!.headSequence);
      expect(sequencesOf(await follower.lines(head))).toEqual(upTo(head));
      follower.child.kill("SIGINT");
      const { code, stdout, stderr } = await result(follower);
      expect(code).toBe(130);
      expect(stdout.trim().split("\n")).toHaveLength(head);
      expect(stderr).toMatch(/^(heddle: connection lost .*\nheddle: connected again\n)?$/);
    } finally {
      await server.stop();
    }
  });

  test("a reader that leaves ends it quietly", async () => {
    const server = await startServerProcess({ dataDir });
    try {
      const { threadId } = await recordThread(server.url, 1500);
      const pipeline = `"${process.execPath}" "${command}" follow ${threadId} --server ${server.url} | head -n 2; echo "code \${PIPESTATUS[0]}"`;
      const { stdout, stderr } = await result(start("bash", ["-c", pipeline]));
      expect(stderr).toBe("");
      expect(stdout.split("\n")).toEqual([
        expect.stringContaining("run"),
        expect.stringContaining("named"),
        "code 0",
        "",
      ]);
    } finally {
      await server.stop();
    }
  });
});

test("commands to type next begin as the one that was typed: npx has the name nowhere else", async () => {
  const unreachable = [command, "threads", "--server", "http://127.0.0.1:1"];
  const npx = { npm_lifecycle_event: "npx", npm_lifecycle_script: "'heddle'" };
  expect((await result(start(process.execPath, unreachable, npx))).stderr).toContain('"npx heddle serve"');
  expect((await result(start(process.execPath, unreachable, { npm_lifecycle_event: "" }))).stderr).toContain(
    '"heddle serve"',
  );
});
