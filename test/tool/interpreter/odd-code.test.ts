// Code that does no harm and is unusual all the same: the interpreter goes on, with its variables and files.
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findWall } from "../../../src/tool/interpreter/find-wall.js";
import { InterpreterProcess } from "../../../src/tool/interpreter/interpreter-process.js";
import { runCode } from "../../../src/tool/interpreter/run-code.js";
import { best, inThread, mib, useInterpreters } from "./support.js";

const interpreters = useInterpreters();

describe("the interpreter goes on", () => {
  const thread = inThread(interpreters({ sandbox: best }));

  test("when a long text is thrown", async () => {
    await thread.javascript("var kept = 1");
    const { result, summary } = await thread.javascript(`throw "first\\n" + "x".repeat(100_000)`);
    expect([summary, result.error!.trace.length < 20_000]).toEqual(["Uncaught first", true]);
    expect((await thread.javascript("kept")).result.value).toBe("1");
  });

  test("when promises have very much to do, and to the end of it", async () => {
    const many = "(async () => { for (let n = 0; n < 1_100_000; n++) await 0; return 'all' })()";
    expect((await thread.javascript(many)).result).toMatchObject({ value: '"all"', ended: "finished" });
  });

  test("when one language has a folder where the other writes a file", async () => {
    await thread.python("import os\nkept = 1\nos.mkdir('empty')\nos.makedirs('full/inner')");
    await thread.javascript("writeFile('empty', 'x'); writeFile('full', 'y')");
    const { result } = await thread.python("kept, open('empty').read(), os.listdir('full')");
    expect(result).toMatchObject({ value: "(1, 'x', ['inner'])", stderr: "No room in Python's folder for full\n" });
    expect((await thread.javascript("readFile('full')")).result.value).toBe('"y"');
  });

  test("when the other language's files are more than it has room for, and none of them is half there", async () => {
    await thread.python("open('/tmp/large', 'wb').write(bytes(30 * 2**20))");
    await thread.javascript("writeFile('more', new Uint8Array(9 * 2**20))");
    const { result } = await thread.python("kept, os.path.exists('more')");
    expect(result).toMatchObject({ value: "(1, False)", stderr: "No room in Python's folder for more\n", files: [] });
    await thread.python("os.remove('/tmp/large')");
    expect((await thread.javascript("readFile('more', 'bytes').length; ")).result.value).toBe(String(9 * mib));
  });

  test("when a file cannot be read, or has a path that is too long", async () => {
    const { result } = await thread.python(
      `open("shut", "w").write("x")
os.chmod("shut", 0)
for name in "abcdef":
    os.mkdir(name * 900)
    os.chdir(name * 900)
open("deep", "w").write("x")
os.chdir("/scratch")
open("fine", "w").write("x")`,
    );
    expect(result.files.map(({ path }) => path)).toEqual(["fine"]);
    expect((await thread.python("kept")).result.value).toBe("1");
  });
});

test("what came of Python code is told, whatever it has made of its streams", async () => {
  const thread = inThread(interpreters({ sandbox: best }));
  expect((await thread.python("import sys\nkept = 1\nsys.stdout.close()")).isError).toBe(false);
  expect((await thread.python("kept")).result.value).toBe("1");
  expect((await thread.python("1 / 0")).summary).toBe("ZeroDivisionError: division by zero");
  expect((await thread.python("sys.stdout = sys.stderr = None\nkept + 1")).result.value).toBe("2");
});

test("what code printed is its own, also when it printed faster than anybody reads: nothing of it is told of the next", async () => {
  const thread = inThread(interpreters({ sandbox: best }));
  const line = "y".repeat(5_000);
  for (let round = 0; round < 12; round++) {
    const caller = new AbortController();
    // Whoever listens takes its time, so that much is unread when the code is called off.
    const listen = () => {
      const until = performance.now() + 30;
      while (performance.now() < until);
      caller.abort();
    };
    await thread.javascript(`for (;;) console.log("${line}")`, caller.signal, listen);
    expect((await thread.javascript("1")).result).toMatchObject({ value: "1", stdoutBytes: 0 });
  }
});

describe("what is left for later", () => {
  const thread = inThread(interpreters({ sandbox: best, timeoutMs: 10_000 }));

  test("asyncio.run waits, and gives the value", async () => {
    const { result } = await thread.python(`
import asyncio
async def later(n):
    await asyncio.sleep(n / 20)
    print(n)
    return n
async def main():
    return await asyncio.gather(later(2), later(1))
asyncio.run(main())`);
    expect(result).toMatchObject({ value: "[2, 1]", stdout: "1\n2\n" });
  });

  test("what would never come is an error, and endless code in it is stopped like any other", async () => {
    const never = await thread.python("async def never(): await asyncio.Future()\nasyncio.run(never())");
    expect(never.summary).toMatch(/^RuntimeError: It waits for what never comes/);
    // Many times: the word to stop must not get lost, wherever it meets the code.
    const endless = "async def endless():\n  print('begun')\n  while True: pass\nasyncio.run(endless())";
    for (let round = 0; round < 60; round++) {
      const caller = new AbortController();
      const { result } = await thread.python(endless, caller.signal, () => caller.abort());
      expect(result).toMatchObject({ ended: "called_off", isLost: false });
    }
  });

  test("promises of JavaScript are done with their call, also when it has thrown", async () => {
    const late = await thread.javascript("Promise.resolve().then(() => console.log('late')); throw new Error('first')");
    expect([late.summary, late.result.stdout]).toEqual(["Error: first", "late\n"]);
    expect((await thread.javascript("1")).result).toMatchObject({ value: "1", stdout: "" });
  });

  test("promises that never end are stopped like any other code, and nothing of them is left", async () => {
    await thread.javascript("var kept = 1");
    const forms = [
      "async function go() { for (;;) await 0 }",
      "function go() { Promise.resolve().then(go) }",
      "function go() { Promise.resolve().then(() => { for (;;); }) }",
    ];
    for (const form of forms) {
      const caller = new AbortController();
      const endless = `${form}\nconsole.log('begun'); go(); 1`;
      const { result } = await thread.javascript(endless, caller.signal, () => caller.abort());
      expect(result).toMatchObject({ ended: "called_off", isLost: false });
      expect((await thread.javascript("kept")).result).toMatchObject({ value: "1", stdout: "" });
    }
  });

  test("nothing runs when the call is over", async () => {
    expect((await thread.python("asyncio.ensure_future(later(0))")).summary).toMatch(/^RuntimeError: .*event loop/);
    const loop = `from pyodide.webloop import WebLoop\nWebLoop().call_later(0, print, "afterwards")`;
    expect((await thread.python(loop)).summary).toMatch(/Not available here/);
    expect((await thread.python("1")).result).toMatchObject({ value: "1", stdout: "" });
  });
});

test("a process that says it has made more than there can be is not believed", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "heddle-liar-")));
  const entry = join(folder, "liar.mjs");
  await writeFile(
    entry,
    `process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
const data = Buffer.alloc(8 * 2 ** 20).toString("base64");
const say = (message) => new Promise((done) => process.stdout.write(JSON.stringify(message) + "\\n", done));
for (let n = 0; n < 60; n++) await say({ type: "file", path: "f" + n, bytes: 1, data });
await say({ type: "done" });`,
  );
  const liar = await InterpreterProcess.start({
    wall: findWall({ sandbox: best, workspace: undefined }),
    memoryBytes: 128 * mib,
    entry,
  });
  const { files } = await runCode(liar, {
    language: "python",
    code: "1",
    timeoutMs: 20_000,
    signal: new AbortController().signal,
    onOutput: () => {},
  });
  await liar.end();
  await rm(folder, { recursive: true, force: true });
  expect(files.length).toBeGreaterThan(4);
  expect(files.reduce((sum, { data }) => sum + (data?.length ?? 0), 0)).toBe(32 * mib);
});
