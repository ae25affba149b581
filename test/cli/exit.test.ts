import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { endingOf } from "../../src/cli/exit.js";
import { heddleError } from "../../src/client/resumable.js";
import { HeddleError } from "../../src/thread/errors.js";

const server = "https://heddle.example.com";

describe("endings", () => {
  test.each([
    [heddleError(Code.Internal, "INTERNAL", "the server failed"), 1, "the server failed"],
    [heddleError(Code.Unavailable, "STORAGE_FAILED", "the disk is broken"), 1, "the disk is broken"],
    [
      heddleError(Code.Unavailable, "SHUTTING_DOWN", "going away"),
      4,
      `cannot reach the server at ${server}: going away`,
    ],
    [new ConnectError("HTTP 502", Code.Unavailable), 4, `cannot reach the server at ${server}: HTTP 502`],
    [new ConnectError("timed out", Code.DeadlineExceeded), 4, `cannot reach the server at ${server}: timed out`],
    [new ConnectError("HTTP 404", Code.Unimplemented), 4, `${server} does not answer as a Heddle server: HTTP 404`],
    [untrusted(), 4, `the certificate of ${server} is not trusted: self-signed certificate. Set NODE_EXTRA_CA_CERTS`],
    [new HeddleError("thread_deleted", "gone"), 3, "gone"],
    [new HeddleError("internal", "a\u001b[2Jb"), 1, "a\\u{1b}[2Jb"],
    [new Error("unforeseen"), 1, "unforeseen"],
    [Object.assign(new Error("write EPIPE"), { code: "EPIPE" }), 0, ""],
  ])("%s", (error, code, message) => {
    const ending = endingOf(error, server);
    expect(ending.code).toBe(code);
    expect(ending.message.startsWith(message)).toBe(true);
    if (message === "") expect(ending.message).toBe("");
  });
});

test("only a refused connection is advice to start a server", () => {
  expect(endingOf(failed("ECONNREFUSED"), server).message).toContain('Start one with "heddle serve"');
  expect(endingOf(failed("ENOTFOUND"), server).message).toBe(`cannot reach the server at ${server}: ENOTFOUND`);
  expect(endingOf(new ConnectError("HTTP 502", Code.Unavailable), server).message).not.toContain("Start one");
});

/** A connection that could not be made. Of a name with several addresses, Node says no more than the code. */
function failed(code: string): ConnectError {
  return new ConnectError("", Code.Unavailable, undefined, undefined, Object.assign(new Error(""), { code }));
}

function untrusted(): ConnectError {
  const cause = Object.assign(new Error("self-signed certificate"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  return new ConnectError(cause.message, Code.Internal, undefined, undefined, cause);
}
