// The key that was given goes to the address that was given, and is shown nowhere (M4).
import { inspect } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { openModelWire } from "../support/model-wire.js";
import { eventsOf, failureOf, key, type ProviderUnderTest, refusal, useWire } from "../support/provider-model.js";

export function keySuite(under: ProviderUnderTest): void {
  const { wire, model, failsWith } = useWire(under);
  const { reply } = under;

  test("the key that was given is sent", async () => {
    wire().play({ body: reply.body });
    await eventsOf(model(` ${key}\n`));
    expect(under.keyOf(wire().requests[0]!)).toBe(key);
  });

  test("no other key, address or header is taken from the environment", async () => {
    for (const [name, value] of Object.entries(under.environment)) vi.stubEnv(name, value);
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    wire().play({ body: reply.body });
    await eventsOf(under.create({ name: "m", apiKey: undefined, baseUrl: under.urlOf(wire()) }));
    const sent = inspect(wire().requests[0], { depth: 10 });
    expect(wire().requests).toHaveLength(1);
    expect(sent).not.toContain("from-environment");
    expect(under.keyOf(wire().requests[0]!)).toBeUndefined();
  });

  test("M4: a key that the provider echoes is in no part of the error", async () => {
    for (const message of [`Incorrect key ${key}`, `${"x".repeat(290)} ${key}`, `key=${encodeURIComponent(key)}`]) {
      const error = await failsWith(refusal(401, message, { "x-echo": key }));
      expect(error.message).toContain("answered 401");
      expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(key.slice(3, 20));
    }
  });

  test("M4: a key that is echoed inside the stream is in no part of the error", async () => {
    const failure = under.failureEvent({ type: "api_error", message: `you are ${key}` });
    const error = await failsWith({ body: reply.body.slice(0, reply.secondAt) + failure });
    expect(error.message).toContain("you are [redacted]");
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(key.slice(3, 20));
  });

  test("M4: a key that cannot be sent is not shown", async () => {
    const error = await failureOf(model("sk-with\nline-0123456789"));
    expect(error.kind).toBe("unauthorized");
    expect(error.message).toContain(under.keyVariable);
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain("0123456789");
    expect(wire().requests).toHaveLength(0);
  });

  test("a redirect is not followed: the key goes nowhere else", async () => {
    await using elsewhere = await openModelWire();
    elsewhere.play({ body: reply.body });
    const location = `${elsewhere.anthropicUrl}/v1/messages`;
    const error = await failsWith({ status: 307, headers: { location }, body: "" });
    expect(error.kind).toBe("rejected");
    expect(error.message).toContain(`redirects to ${location}`);
    expect(elsewhere.requests).toHaveLength(0);
  });
}
