import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { isResumable, reasonOf } from "../../src/client/index.js";
import { heddleError } from "../../src/client/resumable.js";

describe("resumable", () => {
  test.each([
    new ConnectError("", Code.Unavailable),
    new ConnectError("", Code.DeadlineExceeded),
    new ConnectError("read ECONNRESET", Code.Aborted),
    new ConnectError("http/2 stream closed with error code CANCEL (0x8)", Code.Canceled),
    new ConnectError("http/2 stream closed with error code PROTOCOL_ERROR (0x1)", Code.Internal),
    new ConnectError("Received RST_STREAM with code 2", Code.Internal),
    new ConnectError("http/2 stream closed with error code ENHANCE_YOUR_CALM (0xb)", Code.ResourceExhausted),
    heddleError(Code.ResourceExhausted, "LIMIT_EXCEEDED", "too many streams"),
    heddleError(Code.Unavailable, "SHUTTING_DOWN", "going away"),
    new ConnectError("missing EndStreamResponse", Code.Internal),
    ConnectError.from(new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "ECONNRESET" }) })),
    ConnectError.from(new TypeError("Failed to fetch")),
    ConnectError.from(new TypeError("NetworkError when attempting to fetch resource.")),
  ])("%s", (error) => {
    expect(isResumable(error)).toBe(true);
  });
});

describe("final", () => {
  test.each([
    new ConnectError("", Code.NotFound),
    new ConnectError("", Code.OutOfRange),
    new ConnectError("", Code.Unauthenticated),
    new ConnectError("", Code.PermissionDenied),
    new ConnectError("", Code.InvalidArgument),
    new ConnectError("", Code.DataLoss),
    new ConnectError("cannot read properties of undefined", Code.Internal),
    new ConnectError("message size 5 is larger than configured readMaxBytes 4", Code.ResourceExhausted),
    heddleError(Code.Internal, "STORAGE_FAILED", "a socket is mentioned, but the server itself said so"),
    heddleError(Code.NotFound, "THREAD_DELETED", "gone"),
  ])("%s", (error) => {
    expect(isResumable(error)).toBe(false);
  });
});

test("the reason is Heddle's own, not that of another domain", () => {
  expect(reasonOf(heddleError(Code.NotFound, "THREAD_DELETED", "gone"))).toBe("THREAD_DELETED");
  expect(reasonOf(new ConnectError("gone", Code.NotFound))).toBeUndefined();
});
