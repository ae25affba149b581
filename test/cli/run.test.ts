import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, test, vi } from "vitest";
import { exitCodes } from "../../src/cli/exit.js";
import { interruptSignal } from "../../src/cli/interrupt.js";
import { createLogger } from "../../src/cli/logger.js";
import { fakeIo, fakeServer, heddle } from "./support.js";

const threadId = "7b0f2c4e-5a36-4d0e-9c3f-2f6f2b7b9a10";

describe("usage", () => {
  test.each([
    [["folow"], "heddle: unknown command 'folow'\n(Did you mean follow?)"],
    [["threads", "--jsn"], "heddle: unknown option '--jsn'\n(Did you mean --json?)"],
    [["follow"], "heddle: missing required argument 'thread'"],
    [["follow", "abc\u001b"], 'heddle: "abc\\u{1b}" is not the id of a thread. An id looks like'],
    [["follow", threadId, "extra"], "heddle: too many arguments for 'follow'"],
    [["follow", threadId, "--after", "-1"], "It must be the sequence of an event"],
    [["follow", threadId, "--after", "18446744073709551616"], "It must be the sequence of an event"],
    [["threads", "--limit", "0"], "It must be a whole number"],
    [["threads", "--server", "ftp://x"], "It must be the URL of a server"],
    [["threads", "--server", "http://x:1/path"], "It must be the URL of a server"],
    [["threads", "--server", "http://x:1", "--data", "d"], "cannot be used with option"],
    [["call", "abc"], 'heddle: "abc" is not the id of a tool call. An id looks like'],
    [["call", "abc"], '"heddle follow <thread>" prints it on the line that says "named"'],
    [["serve", "--port", "1"], "heddle: unknown option '--port'"],
    [["serve", "--listen", "foo"], "heddle: --listen must be host:port"],
    [["serve", "--log-level", "loud"], "heddle: --log-level must be one of"],
    [["serve", "--config", "/nope.json"], "heddle: --config /nope.json: there is no such file"],
  ])("%j ends with code 2 and says what is wrong", async (args, message) => {
    const { code, stdout, stderr } = await heddle(args);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/\n\(add --help to see what is possible\)\n$/);
  });

  test("a wrong HEDDLE_SERVER is named", async () => {
    const { code, stderr } = await heddle(["threads"], fakeIo({ env: { HEDDLE_SERVER: "nonsense://" } }));
    expect(code).toBe(2);
    expect(stderr).toMatch(/^heddle: HEDDLE_SERVER is wrong\. It must be/);
  });

  test("no command shows the help and is an error", async () => {
    expect(await heddle([])).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("Usage: heddle") });
  });
});

describe("help", () => {
  test("lists every exit code", async () => {
    const { code, stdout } = await heddle(["--help"]);
    expect(code).toBe(0);
    for (const each of [...Object.values(exitCodes), 130, 143])
      expect(stdout).toMatch(new RegExp(`^ {2}${each} {2,}\\S`, "m"));
  });

  test.each(["serve", "run", "follow", "threads", "call"])("of %s has examples", async (command) => {
    for (const args of [
      [command, "--help"],
      ["help", command],
    ]) {
      const { code, stdout } = await heddle(args);
      expect(code).toBe(0);
      expect(stdout).toMatch(new RegExp(`Examples:\\n(.|\\n)*\\$ .*heddle ${command}`));
    }
  });

  test("of call says where an id comes from", async () => {
    expect((await heddle(["call", "--help"])).stdout).toContain(
      'on the line that says "named" in what "heddle follow <thread>" prints',
    );
  });

  test("--version is the package's", async () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    expect(await heddle(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  });
});

test("a server that is not Heddle is said to be none", async () => {
  const other = createServer((_, response) => response.end("hello"));
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const server = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  const { code, stderr } = await heddle(["threads", "--server", server]);
  other.closeAllConnections();
  other.close();
  expect(code).toBe(4);
  expect(stderr).toMatch(new RegExp(`^heddle: ((cannot reach the server|something listens) at )?${server}`));
});

/** Listens on a free port for as long as the test needs it. */
async function listening(server: Server): Promise<{ address: string } & AsyncDisposable> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe("a port that closes the connection before it answers", () => {
  test.each([["threads"], ["follow", threadId]])("%s to a TLS port is told to try https", async (...command) => {
    await using port = await listening(createTlsServer());
    const { code, stderr } = await heddle([...command, "--server", port.address]);
    expect({ code, stderr }).toEqual({
      code: 4,
      stderr: `heddle: something listens at http://${port.address}, but closes the connection before it answers: it does not speak plain HTTP/2. If it speaks TLS, try --server https://${port.address}\n`,
    });
  });

  test.each([["threads"], ["follow", threadId]])(
    "%s with TLS to a plain port is told to try http",
    async (...command) => {
      await using server = await fakeServer({});
      const { host } = new URL(server.url);
      const { code, stderr } = await heddle([...command, "--server", `https://${host}`]);
      expect({ code, stderr }).toEqual({
        code: 4,
        stderr: `heddle: something listens at https://${host}, but it speaks no TLS: try --server http://${host}\n`,
      });
    },
  );

  test("one that only hangs up is told the same", async () => {
    await using port = await listening(createTcpServer((socket) => socket.once("data", () => socket.destroy())));
    const { code, stderr } = await heddle(["threads", "--server", port.address]);
    expect(code).toBe(4);
    expect(stderr).toContain("something listens at");
    expect(stderr).not.toContain("heddle serve");
  });
});

describe("heddle serve, before it starts", () => {
  test("a wrong variable, or a file that says something wrong, ends with code 1", async () => {
    const { code, stderr } = await heddle(["serve"], fakeIo({ env: { HEDDLE_LISTEN: "x" } }));
    expect(code).toBe(1);
    expect(stderr).toMatch(/^heddle: HEDDLE_LISTEN must be host:port[^\n]*\n$/);
    // This very file is one, and is no JSON.
    expect(await heddle(["serve", "--config", import.meta.filename])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/run\.test\.ts:1:1: this is not JSON[^\n]*\n$/),
    });
  });

  test("names every problem of the configuration, and ends with code 2 when a flag is among them", async () => {
    const { code, stdout, stderr } = await heddle(
      ["serve", "--listen", "x"],
      fakeIo({ env: { HEDDLE_LOG_LEVEL: "loud" } }),
    );
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    const lines = stderr.trimEnd().split("\n");
    expect(lines).toEqual([
      "heddle: the configuration has 2 problems:",
      expect.stringMatching(/^ {2}- HEDDLE_LOG_LEVEL must be one of/),
      expect.stringMatching(/^ {2}- --listen must be host:port/),
      "(add --help to see what is possible)",
    ]);
  });

  test("shows where only to those who debug", async () => {
    expect((await heddle(["serve", "--listen", "x"])).stderr).not.toContain("    at ");
    expect((await heddle(["serve", "--listen", "x", "--log-level", "debug"])).stderr).toContain("    at ");
  });
});

describe("signals", () => {
  test("the first asks, the second insists", () => {
    const io = fakeIo();
    const signal = interruptSignal(io);
    io.signal("SIGTERM");
    expect(signal.reason).toMatchObject({ signalName: "SIGTERM", exitCode: 143 });
    expect(io.exits).toEqual([]);
    io.signal("SIGTERM");
    expect(io.exits).toEqual([143]);
  });

  test("npm's echo of a Ctrl-C is not a second one", () => {
    const clock = vi.spyOn(performance, "now");
    try {
      const io = fakeIo();
      interruptSignal(io);
      clock.mockReturnValue(1000);
      io.signal("SIGINT");
      clock.mockReturnValue(1050);
      io.signal("SIGINT");
      expect(io.exits).toEqual([]);
      clock.mockReturnValue(2000);
      io.signal("SIGINT");
      expect(io.exits).toEqual([130]);
    } finally {
      clock.mockRestore();
    }
  });
});

describe("logs", () => {
  test("are JSON without tokens", () => {
    const io = fakeIo();
    createLogger("info", io).info({ token: "hunter2", headers: { authorization: "Bearer hunter2" }, port: 1 }, "hello");
    expect(JSON.parse(io.stderr.text)).toMatchObject({ level: "info", msg: "hello", port: 1, token: "[hidden]" });
    expect(io.stderr.text).not.toContain("hunter2");
  });

  test("are a line of text on a terminal", () => {
    const io = fakeIo({ isTTY: true, env: { NO_COLOR: "1" } });
    const logger = createLogger("info", io);
    logger.debug({}, "not shown");
    logger.warn({ path: "/a\u001b[2J", count: 2 }, "careful");
    expect(io.stderr.text).toMatch(/^\d\d:\d\d:\d\d\.\d{3} warn {2}careful path=\/a\\u\{1b\}\[2J count=2\n$/);
  });

  test.each([
    ["text", "no room", 'error="no room"\n'],
    ["what is no error", { code: 5 }, 'error={"code":5}\n'],
    [
      "an error",
      Object.assign(new Error("x"), { stack: "at a\u001b[2J\n\tat b" }),
      'error="x"\nat a\\u{1b}[2J\n\tat b\n',
    ],
  ])("on a terminal say why, also where that is %s", (_, err, expected) => {
    const io = fakeIo({ isTTY: true, env: { NO_COLOR: "1" } });
    createLogger("info", io).error({ err }, "lost");
    expect(io.stderr.text.slice("00:00:00.000 ".length)).toBe(`error lost ${expected}`);
  });
});
