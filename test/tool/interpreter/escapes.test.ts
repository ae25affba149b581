// Ways out of an interpreter, tried from inside: by ordinary code, and by code that has got out of its language and is in Node.
// Each attempt is bounded by itself.
import { existsSync } from "node:fs";
import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EventLog } from "../../../src/log/event-log.js";
import { openLmdbLog } from "../../../src/log/lmdb.js";
import { findWall } from "../../../src/tool/interpreter/find-wall.js";
import { InterpreterProcess } from "../../../src/tool/interpreter/interpreter-process.js";
import { inThread, isAlive, mib, useInterpreters, ways } from "./support.js";

const interpreters = useInterpreters();
let place: string;
let server: Server;
let log: EventLog;
let asked = 0;

beforeAll(async () => {
  place = await realpath(await mkdtemp(join(tmpdir(), "heddle-escape-")));
  await writeFile(join(place, "secret"), "canary");
  // It leaves its data open for children.
  log = await openLmdbLog({ dir: join(place, "data") });
  process.env["HEDDLE_ESCAPE_CANARY"] = "canary";
  server = createServer((_, response) => {
    asked++;
    response.end("canary");
  });
  server.on("connection", () => asked++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  delete process.env["HEDDLE_ESCAPE_CANARY"];
  server.close();
  await log.close();
  await rm(place, { recursive: true, force: true });
});
const port = (): number => (server.address() as AddressInfo).port;

describe.each(ways)("$way", ({ sandbox, isHere }) => {
  describe.skipIf(!isHere)("ordinary code", () => {
    const settings: { sandbox: typeof sandbox; timeoutMs: number } = { sandbox, timeoutMs: 25_000 };
    const shared = interpreters(settings);
    const thread = inThread(shared);

    test.each([
      ["a file", () => `open(${json(join(place, "secret"))}).read()`],
      ["a file by a link", () => `os.symlink(${json(join(place, "secret"))}, "link") or open("link").read()`],
      ["a file of the system", () => `open("/etc/passwd").read()`],
      ["a file by a descriptor", () => "[os.read(fd, 10) for fd in range(3, 30)]"],
      ["writing outside", () => `open(${json(join(place, "made"))}, "w")`],
      ["a shell", () => `os.system(${json(`touch ${place}/made`)})`],
      ["the posix module's shell", () => `__import__("posix").system(${json(`touch ${place}/made`)})`],
      ["a program", () => `__import__("subprocess").run(["touch", ${json(join(place, "made"))}])`],
      ["a spawned program", () => `os.posix_spawn("/bin/touch", ["touch", ${json(join(place, "made"))}], {})`],
      ["a fork", () => "os.fork()"],
      ["a socket", () => `__import__("socket").create_connection(("127.0.0.1", ${port()}), timeout=1)`],
      ["a socket from below", () => `__import__("_socket").socket().connect(("127.0.0.1", ${port()}))`],
      ["a page", () => `__import__("urllib.request").request.urlopen("http://127.0.0.1:${port()}", timeout=1).read()`],
      ["a page by pyodide", () => `__import__("pyodide.http").http.open_url("http://127.0.0.1:${port()}")`],
      [
        "JavaScript's constructor",
        () => `__import__("pyodide.ffi").ffi.to_js([1]).constructor.constructor("return process")()`,
      ],
      ["JavaScript's globals", () => `__import__("js").process`],
      ["pyodide's own API", () => `__import__("pyodide_js").FS.filesystems.NODEFS`],
      ["pyodide's eval", () => `__import__("pyodide.code").code.run_js("process.pid")`],
      ["a package of the network", () => `__import__("micropip")`],
      ["a signal to the server", () => `os.kill(${process.pid}, 15)`],
      ["libc's shell", () => `__import__("ctypes").CDLL(None).system(${json(`touch ${place}/made`)}.encode())`],
      [
        "a script of the page",
        () => `__import__("ctypes").CDLL(None).emscripten_run_script(${json(`process.exit(1)`)}.encode())`,
      ],
    ])("Python does not reach %s", async (_, attempt) => {
      await thread.python("import os");
      const { result, forModel } = await thread.python(`print(${attempt()})`);
      expect(forModel.replaceAll(attempt(), "")).not.toContain("canary");
      expect(result.error ?? result.ended, forModel).not.toBe("finished");
      expect([asked, existsSync(join(place, "made"))]).toEqual([0, false]);
    });

    test("Python sees nothing of the server's environment, processes and files", async () => {
      const { result } = await thread.python(
        "import os\nstr(os.environ), os.listdir('/'), os.getcwd(), os.listdir('/proc')",
      );
      expect(result.value).not.toContain("canary");
      expect(result.value).toContain("'/scratch'");
      expect(result.value).not.toContain(String(process.pid));
      expect(result.value).not.toContain("etc");
    });

    test.each([
      "require('fs')",
      "process.pid",
      "globalThis.constructor.constructor('return process')()",
      "import('node:fs')",
      "fetch('http://127.0.0.1')",
      "new Worker('x')",
      "readFile('/etc/passwd')",
      "readFile('../../etc/passwd')",
      "writeFile('/tmp/x', 'x')",
      "std.open('/etc/passwd', 'r')",
      "os.exec(['id'])",
    ])("JavaScript has no %s", async (code) => {
      expect(await thread.javascript(code)).toMatchObject({ isError: true, result: { ended: "finished" } });
    });

    test("too much memory is an error of the code, and the interpreter goes on", async () => {
      const hog = "a = []\nfor _ in range(100): a.append(bytearray(10_000_000))";
      expect((await thread.python(hog)).summary).toBe("MemoryError");
      expect((await thread.python("a = None\n1 + 1")).result).toMatchObject({ value: "2", interpreter: "kept" });
      const fill = "var a = []; for (let i = 0; i < 1000; i++) a.push(new Uint8Array(1e6).fill(1))";
      expect((await thread.javascript(fill)).summary).toBe("InternalError: out of memory");
      expect((await thread.javascript("a = null; 1 + 1")).result).toMatchObject({ value: "2", interpreter: "kept" });
    });

    test("endless code is stopped when its time is up, and its variables are kept", async () => {
      await thread.python("kept = 1");
      settings.timeoutMs = 1_500;
      expect(await thread.python("while True: pass")).toMatchObject({
        summary: "Stopped: it took more than 1.5 s",
        isError: true,
        result: { ended: "timed_out", isLost: false },
      });
      expect((await thread.python("kept")).result.value).toBe("1");
      expect((await thread.javascript("for (;;);")).result).toMatchObject({ ended: "timed_out", isLost: false });
      expect((await thread.javascript("for (;;) { try { for (;;); } catch {} }")).result.isLost).toBe(false);
      settings.timeoutMs = 25_000;
    });

    test("code that cannot be stopped is ended with its interpreter, soon after it was called off, and that is said", async () => {
      const caller = new AbortController();
      const pid = thread.pid()!;
      const stubborn = "print('begun')\nwhile True:\n  try:\n    while True: pass\n  except BaseException: pass";
      const { result, forModel } = await thread.python(stubborn, caller.signal, () => caller.abort());
      expect(result).toMatchObject({ ended: "called_off", isLost: true, stdout: "begun\n" });
      expect(forModel).toContain("its variables and files are gone");
      expect(isAlive(pid)).toBe(false);
      const next = await thread.javascript("typeof a");
      expect(next.result).toMatchObject({ value: '"undefined"', interpreter: "restarted" });
      expect(next.forModel).toContain("The interpreter was restarted");
    });
  });

  describe.skipIf(!isHere)("code that is out of its interpreter, and in Node", () => {
    const isHeld = sandbox === "bubblewrap";
    const memoryBytes = 128 * mib;

    /** Starts a process as an interpreter's, with other code in it. */
    async function escaped(
      code: string,
    ): Promise<{ said: Promise<Record<string, string>>; process: InterpreterProcess }> {
      const entry = join(place, `escaped-${Math.random().toString(36).slice(2)}.mjs`);
      const say = `const say = (value) => process.stdout.write(JSON.stringify({ type: "output", stream: "stdout", data: Buffer.from(JSON.stringify(value)).toString("base64") }) + "\\n");`;
      // Ends by itself, whatever happens.
      await writeFile(
        entry,
        `setTimeout(() => process.exit(9), 20_000);\nprocess.stdin.resume();\nprocess.stdin.on("end", () => process.exit(0));\n${say}\n${code}`,
      );
      const started = await InterpreterProcess.start({
        wall: findWall({ sandbox, workspace: undefined }),
        memoryBytes,
        entry,
      });
      const said = new Promise<Record<string, string>>((resolve, reject) => {
        started.onMessage = (message) => {
          if (message.type === "output") resolve(JSON.parse(Buffer.from(message.data, "base64").toString()));
        };
        void started.over.then((cause) => reject(new Error(`${cause}: ${started.lastWords}`)));
      });
      said.catch(() => {});
      return { said, process: started };
    }

    test(
      isHeld ? "reaches nothing" : "has no secrets and writes nothing; for the rest the isolation says what it is",
      async () => {
        const { said, process: started } = await escaped(`
        import fs from "node:fs"; import net from "node:net"; import { spawnSync } from "node:child_process"; import os from "node:os";
        const attempt = (work) => { try { return String(work()); } catch (reason) { return "refused " + (reason.code ?? reason.message); } };
        const fail = (words) => { throw new Error(words); };
        const connected = await new Promise((resolve) => {
          const socket = net.connect(${port()}, "127.0.0.1", () => { resolve("connected"); socket.destroy(); });
          socket.on("error", ({ code }) => resolve("refused " + code));
          socket.setTimeout(2_000, () => { resolve("refused by silence"); socket.destroy(); });
        });
        say({
          secret: attempt(() => fs.readFileSync(${json(join(place, "secret"))}, "utf8")),
          place: attempt(() => fs.readdirSync(${json(place)}).includes("secret") || fail("without it")),
          passwd: attempt(() => fs.readFileSync("/etc/passwd", "utf8").length),
          processes: attempt(() => fs.readdirSync("/proc").length),
          write: attempt(() => fs.writeFileSync(${json(join(place, "made"))}, "made")),
          scratch: attempt(() => fs.writeFileSync("/made", "made")),
          code: attempt(() => fs.appendFileSync(process.argv[1], "made")),
          shared: attempt(() => fs.writeFileSync("/dev/shm/made-" + process.pid, "made")),
          connected,
          spawned: attempt(() => { const { status, error } = spawnSync(process.execPath, ["--version"]); if (error) throw error; return status; }),
          open: attempt(() => Array.from({ length: 64 }, (_, fd) => fd).some((fd) => { try { return fs.fstatSync(fd).isFile(); } catch { return false; } }) || fail("none")),
          environment: JSON.stringify(process.env),
          signalled: attempt(() => process.kill(${process.pid}, 0)),
          interfaces: attempt(() => Object.keys(os.networkInterfaces()).filter((name) => name !== "lo").length),
        });`);
        const found = await said;
        await started.end();
        expect(found["environment"]).not.toContain("canary");
        // Nothing of the server's is open in it.
        expect(found["open"]).toBe("refused none");
        expect(await readFile(join(place, "made"), "utf8").catch(() => "")).toBe("");
        await rm(join(place, "made"), { force: true });
        if (isHeld) {
          const { environment, interfaces, ...attempts } = found;
          expect(Object.entries(attempts).filter(([, end]) => !end.startsWith("refused"))).toEqual([]);
          expect([environment, asked, interfaces?.replace(/^refused.*/, "0")]).toEqual(['{"PWD":"/"}', 0, "0"]);
        } else {
          expect(findWall({ sandbox, workspace: undefined }).isolation).toMatch(
            /^none: .* has the server's own rights$/,
          );
        }
        asked = 0;
      },
    );

    test("is bounded in memory", async () => {
      // A gibibyte at most.
      const { said, process: started } = await escaped(`
        const kept = [];
        try { for (let n = 0; n < 64; n++) kept.push(Buffer.alloc(16 * 2 ** 20, 1)); } catch {}
        say({ mib: String(kept.length * 16) });`);
      const stopWatching = started.watch();
      const end = await Promise.race([
        said.then(({ mib: taken }) => Number(taken)).catch(() => 0),
        started.over.then(() => 0),
      ]);
      stopWatching();
      expect(end).toBeLessThanOrEqual((memoryBytes + 512 * mib) / mib);
      await started.end();
    });

    test("is bounded in processes", async () => {
      // Sixty-four at most, and each for a few seconds.
      const { said, process: started } = await escaped(`
        import { spawn } from "node:child_process";
        let begun = 0, refused = 0;
        for (let n = 0; n < 64; n++) {
          try {
            const child = spawn(process.execPath, ["-e", "setTimeout(() => {}, 5_000)"], { stdio: "ignore" });
            if (child.pid === undefined) refused++; else begun++;
            child.on("error", () => {});
          } catch { refused++; }
        }
        say({ begun: String(begun), refused: String(refused) });`);
      const stopWatching = started.watch();
      if (isHeld) expect(await said).toEqual({ begun: "0", refused: "64" });
      else expect(await started.over).toBe("too_many_processes");
      stopWatching();
      await started.end();
      expect(isAlive(started.pid)).toBe(false);
    });

    test("cannot pass itself off as anything but an interpreter", async () => {
      const { process: started } = await escaped(`process.stdout.write('{"type":"done","value":7}\\n');`);
      expect(await started.over).toBe("crashed");
      const { process: endless } = await escaped(
        `const piece = "x".repeat(2 ** 20); for (let n = 0; n < 40; n++) process.stdout.write(piece);`,
      );
      expect(await endless.over).toBe("crashed");
    });

    test("ends when nobody holds its input any longer", async () => {
      const { said, process: started } = await escaped("say({});");
      await said;
      started.hangUp();
      expect(await started.over).toBe("crashed");
    });
  });
});

const json = (text: string): string => JSON.stringify(text);
