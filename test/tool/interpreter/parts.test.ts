// What interpreters are made of, piece by piece.
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { KeptOutput } from "../../../src/tool/command/kept-output.js";
import { OutputRing, ringBytes } from "../../../src/tool/interpreter/child/output-ring.js";
import { resultOf, summaryOf } from "../../../src/tool/interpreter/code-words.js";
import { hear } from "../../../src/tool/interpreter/heard.js";
import type { ThreadRun } from "../../../src/tool/interpreter/interpreters.js";
import { producedFiles } from "../../../src/tool/interpreter/produced-files.js";
import { noProcesses } from "../../../src/tool/interpreter/seccomp.js";

describe("what is printed, on its way", () => {
  const joined = (pieces: readonly (readonly [string, Uint8Array])[]) =>
    pieces.map(([stream, data]) => `${stream}: ${Buffer.from(data).toString()}`);

  test("keeps the order of the streams, and joins what belongs together", () => {
    const ring = new OutputRing(new SharedArrayBuffer(ringBytes));
    for (const [stream, text] of [
      ["stdout", "a"],
      ["stdout", "b"],
      ["stderr", "c"],
      ["stdout", ""],
      ["stdout", "d"],
    ] as const)
      ring.write(stream, Buffer.from(text));
    expect(joined(ring.read())).toEqual(["stdout: ab", "stderr: c", "stdout: d"]);
    expect(ring.read()).toEqual([]);
  });

  test("goes round and round without a byte lost", () => {
    const ring = new OutputRing(new SharedArrayBuffer(ringBytes));
    for (let round = 0; round < 40; round++) {
      const data = Buffer.alloc(99_991, round + 1);
      ring.write(round % 2 ? "stderr" : "stdout", data);
      const [[stream, read]] = ring.read() as [[string, Uint8Array]];
      expect([stream, Buffer.compare(read, data)]).toEqual([round % 2 ? "stderr" : "stdout", 0]);
    }
  });
});

test("a line that comes in crumbs is not waited for", () => {
  const stream = new PassThrough();
  const heard: string[] = [];
  hear(
    stream,
    ({ type }) => heard.push(type),
    () => heard.push("wrong"),
  );
  for (const piece of ['{"type":"do', 'ne"}\n']) stream.emit("data", Buffer.from(piece));
  for (let n = 0; n < 20_000; n++) stream.emit("data", Buffer.from(" "));
  expect(heard).toEqual(["done", "wrong"]);
});

describe("files that were made", () => {
  const idOf = (path: string) => producedFiles([{ path, bytes: 1, data: Buffer.from("x") }]).content[0]!.id;

  test.each([
    ["plot.png", "file-1-plot.png"],
    ["../../etc/passwd", "file-1-passwd"],
    ["a b\u0000\u202eü.TXT", "file-1-a-b-.txt"],
    [".hidden", "file-1-.hidden"],
    ["日本語.csv", "file-1--.csv"],
    [`${"n".repeat(200)}.json`, `file-1-${"n".repeat(51)}.json`],
    [`a${".".repeat(100)}too-long-for-an-ending`, "file-1-a"],
    ["etc...", "file-1-etc"],
  ])("%j has the id %s", (path, id) => {
    expect(idOf(path)).toBe(id);
    expect(idOf(path)).toMatch(/^[a-z0-9][a-z0-9._-]{0,62}(?<!\.)$/);
  });

  test("a picture is one by its bytes, whatever its name says", () => {
    const png = Buffer.from("\x89PNG\r\n\x1a\n0000", "latin1");
    const types = [
      ["a.txt", png],
      ["a.png", Buffer.from("no picture")],
      ["a.csv", Buffer.from("1,2")],
      ["constructor", Buffer.from([0xff, 0xfe])],
    ] as const;
    const { files } = producedFiles(types.map(([path, data]) => ({ path, data, bytes: data.length })));
    expect(files.map(({ mediaType }) => mediaType)).toEqual([
      "image/png",
      "text/plain",
      "text/csv",
      "application/octet-stream",
    ]);
  });
});

test.each([
  [0.4, "Code ran in 0 ms"],
  [12, "Code ran in 12 ms"],
  [99, "Code ran in 99 ms"],
  [100, "Code ran in 0.1 s"],
  [1_234, "Code ran in 1.2 s"],
])("code that took %s ms: %s", (durationMs, words) => {
  const output = new KeptOutput(() => {});
  const run: ThreadRun = {
    ...{ cause: "finished", value: undefined, error: undefined, files: [], isLost: false, interpreter: "new" },
    ...{ durationMs, stdout: output, stderr: output },
  };
  expect(summaryOf(resultOf("python", run).result, { timeoutMs: 1_000, memoryBytes: 1_000 })).toBe(words);
});

test("what the kernel refuses is known for the usual processors, and for no others", () => {
  expect(noProcesses("x64")!.length % 8).toBe(0);
  expect(noProcesses("arm64")!.length % 8).toBe(0);
  expect(noProcesses("riscv64")).toBeUndefined();
});
