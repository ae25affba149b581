// What others write to the process's outputs is taken, and given back afterwards.
import { expect, test } from "vitest";
import { captureOutput } from "../../src/cli/foreign-output.js";

test("whole lines of both outputs, in any encoding, and warnings; the outputs are as before", async () => {
  const { stdout, stderr } = process;
  const ownListener = () => {};
  process.on("warning", ownListener); // Where nobody listens, nobody wants warnings.
  const before = [stdout.write, stderr.write, process.listeners("warning").length];
  const lines: string[] = [];
  const done: string[] = [];
  const stop = captureOutput((line) => lines.push(line));
  try {
    stdout.write("one\ntw");
    stderr.write("three\n");
    stdout.write(Buffer.from("ä").subarray(0, 1));
    stdout.write(Buffer.from("ä").subarray(1), () => done.push("buffer"));
    stdout.write("0a", "hex", () => done.push("hex"));
    stderr.write("no end");
    const warned = new Promise((resolve) => process.once("warning", resolve));
    process.emitWarning("careful", "TestWarning");
    await warned;
  } finally {
    stop();
  }
  const warning = `(node:${process.pid}) TestWarning: careful`;
  expect(lines).toEqual(["one", "three", "twä", warning, "no end"]);
  expect(done).toEqual(["buffer", "hex"]);
  expect([stdout.write, stderr.write, process.listeners("warning").length]).toEqual(before);
  process.off("warning", ownListener);
});
