// What becomes of every answer that is not a reply, whichever wire it is (M4).
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { maxRetryAfterMs } from "../../src/model/retry-after.js";
import { failureOf, key, type ProviderUnderTest, refusal, useWire } from "../support/provider-model.js";

export function refusalSuite(under: ProviderUnderTest): void {
  const { wire, failsWith } = useWire(under);

  test.each([
    [400, "rejected"],
    [401, "unauthorized"],
    [402, "rejected"],
    [403, "unauthorized"],
    [404, "rejected"],
    [408, "unavailable"],
    [409, "unavailable"],
    [413, "rejected"],
    [422, "rejected"],
    [429, "rate_limited"],
    [500, "unavailable"],
    [503, "unavailable"],
    [529, "unavailable"],
  ])("M4: %i is %s, says who answered what, and is not tried again inside", async (status, kind) => {
    const error = await failsWith(refusal(status, "No, thanks."));
    expect(error.kind).toBe(kind);
    expect(error.message).toMatch(
      new RegExp(`^${under.name} at 127\\.0\\.0\\.1:\\d+ answered ${status}: No, thanks\\. \\S`),
    );
    expect(error.message).not.toContain("\n");
    expect(wire().requests).toHaveLength(1);
  });

  test("M4: people are told where the key is set", async () => {
    expect((await failsWith(refusal(401, "bad key"))).message).toMatch(`bad key. Check ${under.keyVariable}`);
  });

  test("M4: without a key people are told to set one", async () => {
    wire().play(refusal(401, "no key"));
    const keyless = under.create({ name: "m", apiKey: undefined, baseUrl: under.urlOf(wire()) });
    expect((await failureOf(keyless)).message).toMatch(`no key. Set ${under.keyVariable}`);
  });

  test("an account without money is not one that is too fast", async () => {
    const body = JSON.stringify({ error: { message: "no money", code: "insufficient_quota" } });
    expect((await failsWith({ status: 429, body })).kind).toBe("rejected");
  });

  test.each([
    [JSON.stringify({ error: "plain" }), "answered 400: plain. "],
    [JSON.stringify({ object: "error", message: "flat", code: 400 }), "answered 400: flat. "],
    [JSON.stringify({ detail: "detailed" }), "answered 400: detailed. "],
    [JSON.stringify({ other: 1 }), 'answered 400: {"other":1}. '],
    ["first line\nsecond line", "answered 400: first line. "],
    ["<html><h1>Bad</h1></html>", "answered 400. "],
    ["", "answered 400. "],
    ["{broken", "answered 400: {broken. "],
  ])("M4: a body %j is quoted as far as it helps", async (body, quoted) => {
    expect((await failsWith({ status: 400, body })).message).toContain(quoted);
  });

  test.each([10_000, 100_000])("M4: an answer of %i words is cut to a line", async (words) => {
    const error = await failsWith(refusal(400, "word ".repeat(words)));
    expect(error.message).toMatch(/answered 400: .*(word )+.*…\. /);
    expect(error.message.length).toBeLessThan(500);
  });

  test.each([
    [{ "retry-after-ms": "1500", "retry-after": "9" }, 1500],
    [{ "retry-after": "20" }, 20_000],
    [{ "retry-after": "0.25" }, 250],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT" }, 30_000],
    [{ "retry-after": "Wed, 31 Dec 2025 00:00:00 GMT" }, 0],
    [{ "retry-after": "86400" }, maxRetryAfterMs],
    [{ "retry-after": "soon" }, undefined],
    [{}, undefined],
  ])("a rate limit with %j asks to wait %s ms", async (headers, retryAfterMs) => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-01-01T00:00:00Z") });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const error = await failsWith(refusal(429, "slow down", headers as Record<string, string>));
    expect(error.retryAfterMs).toBe(retryAfterMs);
  });

  test("a provider that is unavailable may say for how long", async () => {
    const error = await failsWith(refusal(503, "back soon", { "retry-after": "3" }));
    expect(error.retryAfterMs).toBe(3000);
    expect(error.message).toContain("Try again in 3 s");
  });

  test("nobody listens there", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const error = await failureOf(under.create({ name: "m", apiKey: key, baseUrl: `http://127.0.0.1:${port}/v1` }));
    expect(error.kind).toBe("unavailable");
    expect(error.message).toMatch(/does not answer: .*ECONNREFUSED.*\. Check the network/);
    expect(error.message).toContain(under.baseUrlVariable);
  });

  test("an address that is none", async () => {
    const error = await failureOf(under.create({ name: "m", apiKey: key, baseUrl: "no address" }));
    expect(error.kind).toBe("rejected");
    expect(error.message).toContain(under.baseUrlVariable);
  });

  test("a page instead of a stream", async () => {
    const error = await failsWith({ headers: { "content-type": "text/html; charset=utf-8" }, body: "<html>" });
    expect(error.kind).toBe("invalid_reply");
    expect(error.message).toMatch(
      `answered with text/html instead of a stream of events. Check ${under.baseUrlVariable}`,
    );
  });

  test("an error that comes with a status of success", async () => {
    const body = JSON.stringify({ error: { message: "out of order", code: 502 } });
    const error = await failsWith({ headers: { "content-type": "application/json" }, body });
    expect(error.kind).toBe("unavailable");
    expect(error.message).toContain("out of order");
  });
}
