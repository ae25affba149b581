import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { KeptOutput } from "../../../src/tool/command/kept-output.js";

const limits = { wholeBytes: 100, tailBytes: 40 };

function kept(pieces: readonly (string | Uint8Array)[], given = limits) {
  const told: string[] = [];
  const output = new KeptOutput((text) => told.push(text), given);
  for (const piece of pieces) output.add(Buffer.from(piece as string));
  output.close();
  return { output, told };
}

describe("what a process prints", () => {
  test("is told as it comes", () => {
    const { output, told } = kept(["one\n", "two\n"]);
    expect(told).toEqual(["one\n", "two\n"]);
    expect([output.whole(), output.tail(), output.bytes]).toEqual(["one\ntwo\n", "one\ntwo\n", 8]);
  });

  test("a character that is cut between two pieces is whole", () => {
    const bytes = Buffer.from("a😀é");
    const { told } = kept([bytes.subarray(0, 2), bytes.subarray(2, 4), bytes.subarray(4, 6), bytes.subarray(6)]);
    expect(told).toEqual(["a", "😀", "é"]);
  });

  test("half a character at the end, and what is no text, are marked", () => {
    const { output, told } = kept([Buffer.from([0x61, 0xff, 0xc3])]);
    expect(told.join("")).toBe("a\ufffd\ufffd");
    expect(output.whole()).toBe("a\ufffd\ufffd");
  });

  test("is kept from its beginning and to its end, and what is missing is said", () => {
    const { output, told } = kept(Array.from({ length: 50 }, (_, index) => `line ${String(index).padStart(2, "0")}\n`));
    expect(told.join("")).toMatch(/^line 00\n(?:line \d\d\n){11}line\n\[More output was left out\]\n$/);
    expect(output.whole()).toMatch(/^line 00\n[\s\S]*line\n\[300 more bytes were left out\]\n$/);
    expect(output.tail()).toBe("[360 bytes before this were left out]\nline 45\nline 46\nline 47\nline 48\nline 49\n");
  });

  test("a tail without line breaks begins with a whole character", () => {
    const { output } = kept(["€".repeat(100)]);
    expect(output.tail()).toBe(`[261 bytes before this were left out]\n${"€".repeat(13)}`);
  });

  test("however it is cut, the same is told and kept", () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 20 });
    fc.assert(
      fc.property(pieces, (some) => {
        const all = Buffer.concat(some);
        const { output, told } = kept(some);
        const once = kept([all]);
        expect(told.join("")).toBe(once.told.join(""));
        expect(output.whole()).toBe(once.output.whole());
        expect(output.tail()).toBe(once.output.tail());
        expect(output.bytes).toBe(all.length);
      }),
    );
  });
});
