import { expect, test } from "vitest";
import { exitCodeWords, knownExitCode } from "../../src/tool/exit-code.js";

test.each([
  [0, "exit code 0"],
  [-0, "exit code 0"],
  [2, "exit code 2"],
  [255, "exit code 255"],
  [-1, "exit code -1"],
  [2 ** 31 - 1, "exit code 2147483647"],
  [-(2 ** 31), "exit code -2147483648"],
])("%d is a code", (exitCode, words) => {
  expect(exitCodeWords(exitCode)).toBe(words);
  expect(knownExitCode(exitCode)).toBe(exitCode + 0);
});

test.each([
  undefined,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  1.5,
  1e-7,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53,
  1e300,
  null as unknown as undefined,
  "1" as unknown as undefined,
  {} as unknown as undefined,
])("%s is none", (exitCode) => {
  expect(exitCodeWords(exitCode)).toBe("exit code unknown");
  expect(knownExitCode(exitCode)).toBeUndefined();
});
