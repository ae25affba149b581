import { describe, expect, test } from "vitest";
import { clip, safeBlock, safeLine, styleFor } from "../../src/cli/terminal.js";
import { fakeIo } from "./support.js";

describe("text from elsewhere", () => {
  test.each([
    ["\u001b[2J", "\\u{1b}[2J"],
    ["a\nb\r\tc", "a\\nb\\r\\tc"],
    ["\u009b31m", "\\u{9b}31m"],
    ["\u202egnp.exe", "\\u{202e}gnp.exe"],
    ["a\u2028b", "a\\u{2028}b"],
    ["\u{e0041}", "\\u{e0041}"],
    ["é 👩‍💻 日本", "é 👩‍💻 日本"],
  ])("%j becomes %j", (text, safe) => {
    expect(safeLine(text)).toBe(safe);
  });

  test("a block keeps line ends and tabs, and nothing else", () => {
    expect(safeBlock("a\n\tb\r\u001b]0;x\u0007")).toBe("a\n\tb\\r\\u{1b}]0;x\\u{7}");
  });

  test("clip counts characters, and does not cut one in half", () => {
    expect(clip("👍👍👍", 3)).toBe("👍👍👍");
    expect(clip("👍👍👍👍", 3)).toBe("👍👍…");
  });
});

describe("colours", () => {
  test.each([
    ["on a terminal", { isTTY: true }, true],
    ["not in a pipe", { isTTY: false }, false],
    ["not with NO_COLOR", { isTTY: true, env: { NO_COLOR: "1" } }, false],
    ["not on a dumb terminal", { isTTY: true, env: { TERM: "dumb" } }, false],
  ])("%s", (_, options, isColoured) => {
    expect(styleFor(fakeIo(options), "stdout").red("x") !== "x").toBe(isColoured);
  });
});
