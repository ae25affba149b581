// heddle serve inside this process: what it prints, and when it stops.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findServer } from "../../src/compose.js";
import { packageVersion } from "../../src/config/version.js";
import { newDataDir, removeDataDir } from "../support/server-process.js";
import { fakeIo, heddle } from "./support.js";

let dataDir: string;
beforeAll(async () => {
  dataDir = await newDataDir();
});
afterAll(() => removeDataDir(dataDir));

const args = () => ["serve", "--listen", "127.0.0.1:0", "--data", dataDir, "--log-level", "warn"];

/** Starts, and stops as soon as everything that belongs to the start is printed. */
async function startAndStop(options: { isTTY: boolean; env?: Record<string, string> }) {
  const io = fakeIo(options);
  const last = options.isTTY ? io.stderr : io.stdout;
  last.onWrite = () => queueMicrotask(() => io.signal("SIGTERM"));
  return heddle(args(), io);
}

describe("heddle serve", () => {
  test("prints one line, and nothing more in a pipe", async () => {
    const { code, stdout, stderr } = await startAndStop({ isTTY: false });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^heddle listening on http:\/\/127\.0\.0\.1:\d+\n$/);
  });

  test("prints the same line on a terminal, and what to try below it", async () => {
    const { stdout, stderr } = await startAndStop({ isTTY: true, env: { NO_COLOR: "1" } });
    const url = /^heddle listening on (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(stdout)?.[1];
    expect(stderr.split("\n")).toEqual([
      "Try, in another terminal:",
      `  heddle run "Think about it, and tell me." --server ${url}`,
      `  heddle follow <thread> --server ${url}`,
      `  heddle threads --server ${url}`,
      expect.stringMatching(/^The model is a demo.*OPENAI_API_KEY=… heddle serve --workspace \. --model openai:/),
      "",
    ]);
  });

  test("asks about the folder where the agent has one, and says nothing of the demo where there is a real model", async () => {
    const env = { NO_COLOR: "1", HEDDLE_WORKSPACE: dataDir, HEDDLE_MODEL: "openai:x", OPENAI_API_KEY: "sk-0123456789" };
    const { stderr } = await startAndStop({ isTTY: true, env });
    expect(stderr).toContain('  heddle run "What is in this folder?" --server ');
    expect(stderr).not.toContain("demo");
  });

  test("says that a token is needed, and not what it is", async () => {
    const token = "0123456789abcdef";
    const { stderr } = await startAndStop({ isTTY: true, env: { NO_COLOR: "1", HEDDLE_TOKEN: token } });
    expect(stderr).toContain("Try, in another terminal, with HEDDLE_TOKEN set to a token of the configuration:");
    expect(stderr).not.toContain(token);
  });

  test("tells commands where it listens for as long as it does", async () => {
    const io = fakeIo();
    let found: ReturnType<typeof findServer>;
    io.stdout.onWrite = () => {
      found = findServer(dataDir);
      queueMicrotask(() => io.signal("SIGTERM"));
    };
    const { stdout } = await heddle(args(), io);
    expect(found).toMatchObject({ url: stdout.trim().split(" ").at(-1), pid: process.pid });
    expect(findServer(dataDir)).toBeUndefined();
  });

  test("logs what it is when it is ready, and no token", async () => {
    const token = "0123456789abcdef";
    const config = join(dataDir, "heddle.json");
    writeFileSync(config, JSON.stringify({ tokens: [{ name: "a", token }], logLevel: "info" }));
    const io = fakeIo();
    io.stdout.onWrite = () => queueMicrotask(() => io.signal("SIGTERM"));
    const listen = ["--listen", "127.0.0.1:0", "--data", dataDir];
    const { stdout, stderr } = await heddle(["serve", ...listen, "--config", config], io);
    const lines = stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.filter(({ msg }) => msg === "ready")).toEqual([
      {
        level: "info",
        time: expect.any(String),
        pid: process.pid,
        msg: "ready",
        version: packageVersion(),
        url: stdout.trim().split(" ").at(-1),
        dataDir,
        configFile: config,
        tls: false,
        tokenCount: 1,
        node: process.version,
      },
    ]);
    expect(stderr).not.toContain(token);
  });

  test("a signal while it starts ends it in good order, without a line", async () => {
    const io = fakeIo();
    const running = heddle(args(), io);
    io.signal("SIGTERM");
    expect(await running).toEqual({ code: 0, stdout: "", stderr: "" });
    expect(io.exits).toEqual([]);
  });

  test("a closed standard output is no reason to stop", async () => {
    const io = fakeIo({ isTTY: true });
    io.stdout.onWrite = () => {
      throw Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
    };
    io.stderr.onWrite = (text) => text.includes("Try") && queueMicrotask(() => io.signal("SIGINT"));
    expect(await heddle(args(), io)).toMatchObject({ code: 0, stdout: "" });
  });
});
