import { deflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { codeInterpreter } from "../../../src/tool/builtin/code-interpreter.js";
import { policyOf } from "../../../src/tool/policy.js";
import { best, inThread, useInterpreters, ways } from "../interpreter/support.js";
import { KeptContext } from "../support.js";

const interpreters = useInterpreters();
const shared = interpreters({ sandbox: best });

describe("what it says of itself", () => {
  test.each(ways.filter(({ isHere }) => isHere))("$way", ({ sandbox }) => {
    const tool = codeInterpreter(interpreters({ sandbox }));
    const isHeld = sandbox === "bubblewrap";
    expect(policyOf(tool, { policy: {}, trusted: false })).toBe(isHeld ? "allow" : "ask");
    expect(tool.isolation).toBe(
      isHeld
        ? "bubblewrap: no network, no files but its own in memory, no other processes"
        : "none: agent.commands.sandbox is none; code that gets out of its interpreter has the server's own rights",
    );
  });

  test("in words for people", async () => {
    const tool = codeInterpreter(shared);
    expect(tool).toMatchObject({ kind: "execute", phase: "interpreting" });
    expect(tool.describe({ language: "python", code: "a = 1\n".repeat(14) })).toBe("Running Python code (14 lines)");
    expect(tool.describe({ language: "javascript", code: "1" })).toBe("Running JavaScript code (1 line)");
    const preview = await tool.preview!({ language: "python", code: "a\u202eb\nc" }, new KeptContext());
    expect(preview!.data).toBe(`Isolation: ${tool.isolation}\nTime: at most 30 s\nPython code:\n  a\\u{202e}b\n  c\n`);
  });
});

describe("Python", () => {
  const { python, javascript } = inThread(shared);

  test("prints as it goes, in order, and gives its last value", async () => {
    const code = "import sys\nfor n in range(3):\n  print('out', n)\n  print('err', n, file=sys.stderr)\nn * 21";
    const { result, summary, context, forModel, exitCode } = await python(code);
    expect(summary).toMatch(/^Code ran in [\d.]+ m?s$/);
    expect(context.streams.map(([stream, text]) => `${stream}: ${text}`).join("")).toBe(
      [0, 1, 2].map((n) => `stdout: out ${n}\nstderr: err ${n}\n`).join(""),
    );
    expect(result).toMatchObject({
      ended: "finished",
      value: "42",
      stdoutBytes: 18,
      interpreter: "new",
      isLost: false,
    });
    expect(exitCode).toBe(0);
    expect(context.messages).toEqual(["Starting the Python interpreter"]);
    expect(forModel).toContain("This is a new interpreter");
    expect(forModel).toContain("value:\n42");
  });

  test("what it prints is seen while it runs", async () => {
    const caller = new AbortController();
    const running = python("import time\nprint('begun')\ntime.sleep(60)", caller.signal, () => caller.abort());
    expect(await running).toMatchObject({ result: { ended: "called_off", stdout: "begun\n", isLost: false } });
  });

  test("keeps variables between calls", async () => {
    await python("kept = [1, 2]\ndef twice(x):\n  return 2 * x");
    const { result, forModel } = await python("kept.append(twice(3)); kept");
    expect(result).toMatchObject({ value: "[1, 2, 6]", interpreter: "kept" });
    expect(forModel).not.toContain("new interpreter");
  });

  test("fails with the last line of its error, and where it happened", async () => {
    const { summary, isError, result, forModel, exitCode } = await python(
      "def f(x):\n  return 1 / x\n\nprint('a')\nf(0)",
    );
    expect(summary).toBe("ZeroDivisionError: division by zero");
    expect([isError, exitCode]).toEqual([true, 1]);
    expect(result.error!.trace).toMatch(
      /^Traceback.*line 5, in <module>.*line 2, in f\n {4}return 1 \/ x.*by zero\n$/s,
    );
    expect(result.error!.trace).not.toContain("heddle");
    expect(forModel).toContain("stdout:\na\nerror:\nTraceback");
  });

  test.each([
    ["def f(:", "SyntaxError: invalid syntax"],
    ["raise ValueError('first\\nsecond')", "ValueError: first"],
    ["raise KeyboardInterrupt", "KeyboardInterrupt"],
    ["raise SystemExit(3)", "SystemExit: 3"],
    ["input()", "EOFError: EOF when reading a line"],
    ["import numpy", "ModuleNotFoundError: No module named 'numpy'"],
    ["class Bad:\n  def __repr__(self): raise OSError('no')\nBad()", "OSError: no"],
  ])("%j is %s", async (code, words) => {
    expect(await python(code)).toMatchObject({ summary: words, isError: true });
  });

  test("an exit without a code is no error, and neither is nothing", async () => {
    expect(await python("import sys\nsys.exit()")).toMatchObject({ isError: false, result: { ended: "finished" } });
    expect((await python("None")).result).not.toHaveProperty("value");
    expect((await python("# nothing")).result).not.toHaveProperty("value");
  });

  test("its standard library is there", async () => {
    const code = "import sqlite3, json, csv, zlib, statistics, datetime, re\nstatistics.mean([1, 2, 6])";
    expect((await python(code)).result.value).toBe("3");
  });

  test("a long value and a long output are cut, and say so", async () => {
    const { result } = await python("print('x' * 100_000)\n'y' * 100_000");
    expect(result.value!.length).toBeLessThan(17_000);
    expect(result.value).toContain("[…]");
    expect(result.stdout).toMatch(/^\[\d+ bytes before this were left out\]\n/);
    expect(result.stdoutBytes).toBe(100_001);
  });

  test("files that it makes are parts of the call", async () => {
    const png = [...pixel()].join(",");
    const { summary, content, result, forModel } = await python(
      `import os\nopen("Plot 1.PNG", "wb").write(bytes([${png}]))\nos.mkdir("out")\nopen("out/table.csv", "w").write("a,b\\n")\nopen("bin", "wb").write(b"\\0\\xff")`,
    );
    expect(summary).toMatch(/, 3 files produced$/);
    expect(result.files).toEqual([
      { path: "Plot 1.PNG", contentId: "file-1-plot-1.png", mediaType: "image/png", bytes: pixel().length },
      { path: "bin", contentId: "file-2-bin", mediaType: "application/octet-stream", bytes: 2 },
      { path: "out/table.csv", contentId: "file-3-table.csv", mediaType: "text/csv", bytes: 4 },
    ]);
    expect(content!.map(({ id }) => id)).toEqual(["file-1-plot-1.png", "file-2-bin", "file-3-table.csv"]);
    expect(content![0]!.data).toEqual(pixel());
    expect(forModel).toContain("out/table.csv (text/csv, 4 bytes, id file-3-table.csv)");

    const changed = await python('open("out/table.csv", "a").write("1,2\\n")\nos.remove("bin")');
    expect(changed.result.files).toMatchObject([{ path: "out/table.csv", bytes: 8 }]);
    expect(changed.summary).toMatch(/, 1 file produced$/);
    expect((await python("sorted(os.listdir('.'))")).result).toMatchObject({
      value: "['Plot 1.PNG', 'out']",
      files: [],
    });
  });

  test("files are bounded in number, size and all together", async () => {
    const { result, content } = await python("for n in range(30): open(f'{n:02}.txt', 'w').write('x')");
    expect(result.files).toHaveLength(30);
    expect(content).toHaveLength(20);
    expect(result.files[29]).toEqual({ path: "29.txt", mediaType: "text/plain", bytes: 1 });
    const large = await python("open('large', 'wb').write(bytes(9 * 1024 ** 2))");
    expect(large).toMatchObject({ content: [], result: { files: [{ path: "large", bytes: 9 * 1024 ** 2 }] } });
    expect(large.forModel).toContain("not kept: at most 20 files of 8.4 MB each are");
    const full = await python("open('full', 'wb').write(bytes(30 * 1024 ** 2))");
    expect(full.summary).toContain("No space left on device");
    expect((await python("open('longer', 'wb').truncate(2 ** 30)")).summary).toContain("No space left on device");
    expect((await javascript("writeFile('more', 'x'.repeat(30 * 1024 * 1024))")).summary).toContain("No space left");
    expect(
      (await python("import os\nos.remove('large')\nopen('fits', 'wb').write(bytes(8 * 1024 ** 2))")).isError,
    ).toBe(false);
    await python(
      "import shutil\nfor name in os.listdir('.'): shutil.rmtree(name) if os.path.isdir(name) else os.remove(name)",
    );
  });

  test("and shares its folder with JavaScript", async () => {
    await python("open('from-python.txt', 'w').write('ü')");
    expect((await javascript("readFile('from-python.txt')")).result.value).toBe('"ü"');
    await javascript(
      "writeFile('sub/from-js.bin', new Uint8Array([1, 2, 3]).subarray(1)); deleteFile('from-python.txt')",
    );
    const code = "import os\nopen('sub/from-js.bin', 'rb').read(), os.path.exists('from-python.txt')";
    expect((await python(code)).result).toMatchObject({ value: "(b'\\x02\\x03', False)", files: [] });
  });
});

describe("JavaScript", () => {
  const { javascript } = inThread(shared);

  test("prints, gives its last value, and keeps its variables", async () => {
    const { result, context } = await javascript(
      'var kept = { a: [1, "b", null], m: new Map([[1, { c: 2n }]]) };\nconsole.log("text", kept);\nconsole.error("wrong");\nkept.a.length',
    );
    expect(context.streams).toEqual([
      ["stdout", 'text { a: [1, "b", null], m: Map {1 => { c: 2n }} }\n'],
      ["stderr", "wrong\n"],
    ]);
    expect(result.value).toBe("3");
    expect((await javascript("kept.self = kept; kept")).result.value).toContain("self: [Circular]");
  });

  test.each([
    ["throw new TypeError('no')", "TypeError: no"],
    ["null.x", "TypeError: cannot read property 'x' of null"],
    ["a b", "SyntaxError: expecting ';'"],
    ["throw 'text'", "Uncaught text"],
    ["Promise.reject(new RangeError('late'))", "RangeError: late"],
    ["readFile('../outside')", 'Error: "../outside" is no path of a file here; use a name such as data.csv'],
    ["readFile('missing.txt')", "Error: There is no file missing.txt; listFiles() names those that are there"],
    ["require('fs')", "ReferenceError: 'require' is not defined"],
  ])("%j is %s", async (code, words) => {
    expect(await javascript(code)).toMatchObject({ summary: words, isError: true });
  });

  test.each([
    ["(async () => { await null; return 7 })()", "7"],
    ["new Promise(() => {})", "Promise { pending }: nothing here settles it, for there are no timers and no network"],
    ["'a\\nb'", '"a\\nb"'],
    ["[1, [2, [3, [4, [5]]]]]", "[1, [2, [3, [4, [Array]]]]]"],
    ["new Date(0)", "1970-01-01T00:00:00.000Z"],
    ["new Uint8Array(2)", "Uint8Array [0, 0]"],
  ])("%j has the value %s", async (code, value) => {
    expect((await javascript(code)).result.value).toBe(value);
  });
});

/** One red pixel. */
function pixel(): Buffer {
  const crcOf = (data: Buffer): number => {
    let crc = -1;
    for (const byte of data) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc >>> 0;
  };
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    const crc = Buffer.alloc(4);
    crc.writeUInt32BE(crcOf(body));
    return Buffer.concat([length, body, crc]);
  };
  const header = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0]);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(Buffer.from([0, 255, 0, 0]))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}
