// What every model behind a provider's wire must do, whichever wire it is. A provider's own test file adds how it is asked and
// how its reply is read.
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { ModelEvent } from "../../src/model/model.js";
import { hangUp, silence } from "../support/model-wire.js";
import { eventsOf, failureOf, type ProviderUnderTest, question, textIn, useWire } from "../support/provider-model.js";
import { keySuite } from "./model-provider-keys.js";
import { refusalSuite } from "./model-provider-refusals.js";

export function providerSuite(under: ProviderUnderTest): void {
  const { wire, model, failsWith } = useWire(under);
  const { reply } = under;

  describe("events", () => {
    test("M1: what has been sent is told before the next piece is sent", async () => {
      let goOn = (): void => {};
      const gate = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      wire().play({ body: reply.body, cuts: [reply.secondAt], beforePiece: () => gate });
      let seen = "";
      for await (const event of model().stream(question, new AbortController().signal)) {
        if (event.type !== "text") continue;
        seen += event.text;
        goOn();
      }
      expect(seen).toBe("onetwo");
    });

    test("M3: the last event is end", async () => {
      wire().play({ body: reply.body });
      expect((await eventsOf(model())).at(-1)).toMatchObject({ type: "end", reason: "stop" });
    });

    test("lines may end with CR LF", async () => {
      wire().play({ body: reply.body.replaceAll("\n", "\r\n") });
      expect(textIn(await eventsOf(model()))).toBe("onetwo");
    });

    test("comments between the events are passed over", async () => {
      wire().play({ body: `: busy\n\n${reply.body}` });
      expect(textIn(await eventsOf(model()))).toBe("onetwo");
    });

    test("the name is the one that people choose it by", () => {
      expect(model().name).toBe(`${under.name}:m`);
    });
  });

  describe("streams that break", () => {
    test("M3: a stream that ends without the end of the reply is broken", async () => {
      const error = await failsWith({ body: reply.body.slice(0, reply.secondAt) });
      expect(error.kind).toBe("broken");
      expect(error.message).toMatch(/^the reply of .* broke off: the stream ended early. Try again$/);
    });

    test("M3: an empty stream is broken", async () => {
      expect((await failsWith({ body: "" })).kind).toBe("broken");
    });

    test("M3: a connection that is lost in the middle is broken", async () => {
      const error = await failsWith({ body: reply.body.slice(0, reply.secondAt), ending: "break" });
      expect(error.kind).toBe("broken");
      expect(error.message).toContain("broke off");
    });

    test("a connection that is lost before any answer makes the provider unavailable; it is not tried again inside", async () => {
      wire().play(hangUp);
      expect((await failureOf(model())).kind).toBe("unavailable");
      expect(wire().requests).toHaveLength(1);
    });

    test("a connection that is lost before the first event makes the provider unavailable", async () => {
      expect((await failsWith({ body: "", ending: "break" })).kind).toBe("unavailable");
    });

    test("a reply that is whole stays so when its connection is lost", async () => {
      wire().play({ body: reply.body, ending: "break" });
      expect((await eventsOf(model())).at(-1)?.type).toBe("end");
    });

    test("an event that is not JSON is an invalid reply, and is not logged", async () => {
      const log = vi.fn();
      vi.stubGlobal("console", { error: log, warn: log, info: log, log, debug: log });
      onTestFinished(() => {
        vi.unstubAllGlobals();
      });
      const error = await failsWith({ body: `event: message_start\ndata: {oops\n\n${reply.body}` });
      expect(error.kind).toBe("invalid_reply");
      expect(error.message).toContain("not JSON");
      expect(log).not.toHaveBeenCalled();
    });

    test.each([
      ["overloaded_error", "unavailable"],
      ["rate_limit_error", "rate_limited"],
      ["authentication_error", "unauthorized"],
      ["invalid_request_error", "rejected"],
      ["never_heard_of", "unavailable"],
    ])("M4: %s inside the stream is %s", async (type, kind) => {
      const failure = under.failureEvent({ type, message: "It is too much.\nReally" });
      const error = await failsWith({ body: reply.body.slice(0, reply.secondAt) + failure });
      expect(error.kind).toBe(kind);
      expect(error.message).toMatch(/reports an error: It is too much\. \S/);
    });
  });

  describe("answers that are not replies", () => refusalSuite(under));

  describe("keys", () => keySuite(under));

  describe("calling off", () => {
    const asking = (signal: AbortSignal): AsyncIterator<ModelEvent> =>
      model().stream(question, signal)[Symbol.asyncIterator]();
    const reason = new Error("enough");

    test("M5: nothing is asked under a signal that is aborted", async () => {
      await expect(asking(AbortSignal.abort(reason)).next()).rejects.toBe(reason);
      expect(wire().requests).toHaveLength(0);
    });

    test("M5: before the answer", async () => {
      wire().play(silence);
      const controller = new AbortController();
      const next = asking(controller.signal).next();
      const request = await wire().request();
      controller.abort(reason);
      await expect(next).rejects.toBe(reason);
      expect(await request.over).toBe(true);
    });

    test("M5: in the middle of the reply, while the next event is waited for", async () => {
      wire().play({ body: reply.body.slice(0, reply.secondAt), ending: "hang" });
      const controller = new AbortController();
      const events = asking(controller.signal);
      while ((await events.next()).value?.type !== "text");
      const next = events.next();
      controller.abort(reason);
      await expect(next).rejects.toBe(reason);
      expect(await (await wire().request()).over).toBe(true);
    });

    test("M5: in the middle of the reply, while nobody reads", async () => {
      wire().play({ body: reply.body.slice(0, reply.secondAt), ending: "hang" });
      const controller = new AbortController();
      const events = asking(controller.signal);
      while ((await events.next()).value?.type !== "text");
      controller.abort(reason);
      expect(await (await wire().request()).over).toBe(true);
      await expect(events.next()).rejects.toBe(reason);
    });

    test("a reader that leaves ends the request", async () => {
      wire().play({ body: reply.body.slice(0, reply.secondAt), ending: "hang" });
      for await (const event of model().stream(question, new AbortController().signal))
        if (event.type === "text") break;
      expect(await (await wire().request()).over).toBe(true);
    });

    test("nothing stays behind on a signal that outlives the request", async () => {
      const { signal } = new AbortController();
      const added = vi.spyOn(signal, "addEventListener");
      const removed = vi.spyOn(signal, "removeEventListener");
      wire().play({ body: reply.body });
      for await (const _ of model().stream(question, signal));
      expect(added).toHaveBeenCalled();
      expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(
        added.mock.calls.map(([, listener]) => listener),
      );
    });
  });

  test("images go along with the words of their message, in bytes or as a URL that nobody here fetches", async () => {
    wire().play({ body: reply.body });
    const { bytes, url } = under.images;
    const images = [
      { mediaType: "image/png", base64: "iVBORw0K", detail: "low" as const },
      { url: "https://loom.invalid/a.png", detail: "" as const },
    ];
    await eventsOf(model(), { ...question, messages: [{ role: "user", text: "look", images }] });
    const { messages } = wire().requests[0]!.body as { messages: { content: { type: string }[] }[] };
    const parts = messages[0]?.content ?? [];
    expect(parts.filter(({ type }) => type !== "text")).toEqual([bytes, url]);
    expect(parts.filter(({ type }) => type === "text")).toEqual([{ type: "text", text: "look" }]);
  });

  test("an image alone is a message", async () => {
    wire().play({ body: reply.body });
    const images = [{ url: "https://loom.invalid/a.png", detail: "" as const }];
    await eventsOf(model(), { ...question, messages: [{ role: "user", text: "", images }] });
    expect(wire().requests[0]?.body).toMatchObject({ messages: [{ role: "user", content: [under.images.url] }] });
  });

  test("half a surrogate pair does not reach the provider; other escapes stay as they are", async () => {
    wire().play({ body: reply.body });
    const text = "half \ud83d, whole 😀, written \\ud83d";
    await eventsOf(model(), { ...question, messages: [{ role: "user", text }] });
    expect(JSON.stringify(wire().requests[0]?.body)).toContain(
      JSON.stringify("half \ufffd, whole 😀, written \\ud83d"),
    );
  });
}
