// What an error adds to the summary beside it.
import { expect, test } from "vitest";
import { ToolCallOutcome } from "../../gen/heddle/v1/tool_call_pb.js";
import { errorText } from "../../src/cli/words.js";

const { FAILED, DISCARDED, CANCELLED } = ToolCallOutcome;
const long = `It went wrong ${"again and ".repeat(30)}again`;

test.each([
  ["a message that the summary holds", FAILED, "Failed: X is down", { message: "X is down" }, ""],
  ["with a full stop behind it", FAILED, "Failed: X is down", { message: "X is down." }, ""],
  ["what follows the summary", FAILED, "X is down", { message: "X is down: no route" }, "no route"],
  ["the outcome's own word", CANCELLED, "Called off", { kind: "cancelled", message: "" }, ""],
  ["words of the summary", DISCARDED, "Discarded: attempt dropped", { kind: "attempt_dropped", message: "" }, ""],
  [
    "what follows the summary's words behind its outcome",
    DISCARDED,
    "Discarded: the model's reply broke off",
    { kind: "attempt_dropped", message: "The model's reply broke off; nothing of it was run" },
    "attempt_dropped, nothing of it was run",
  ],
  [
    "words that only begin alike",
    FAILED,
    "Failed: the server is not there",
    { message: "The server is not thereabouts" },
    "The server is not thereabouts",
  ],
  [
    "a path that begins with dots",
    FAILED,
    "Failed: could not open the file",
    { message: "Could not open the file ../secret" },
    "../secret",
  ],
  [
    "a name that goes on",
    FAILED,
    "Failed: could not open /etc/hosts",
    { message: "could not open /etc/hosts.allow: EACCES" },
    "could not open /etc/hosts.allow: EACCES",
  ],
  [
    "a path behind the summary itself",
    FAILED,
    "Could not open the file",
    { message: "Could not open the file ../secret" },
    "../secret",
  ],
  [
    "a name that goes on behind the summary itself",
    FAILED,
    "could not open /etc/hosts",
    { message: "could not open /etc/hosts.allow: EACCES" },
    "could not open /etc/hosts.allow: EACCES",
  ],
  [
    "a word that goes on behind the summary itself",
    FAILED,
    "Could not open the file",
    { message: "Could not open the files in /a" },
    "Could not open the files in /a",
  ],
  [
    "what a cut summary has left out",
    FAILED,
    `Failed: ${long.slice(0, 180)}…`,
    { message: long },
    `…${long.slice(180)}`,
  ],
  [
    "something else",
    FAILED,
    "Failed",
    { kind: "io", code: "ENOENT", message: "no such file" },
    "io, ENOENT, no such file",
  ],
  ["words behind a sign of their own", FAILED, "Timed out", { message: "Timed out... retry later" }, "retry later"],
  ["a short code that stands there by chance", FAILED, "1 of 2", { code: "1", message: "" }, "1"],
])("%s", (_, outcome, summary, error, expected) => {
  expect(errorText({ kind: "", code: "", ...error }, summary, outcome)).toBe(expected);
});
