// Responses that take longer than a stream of a thread may last.
import { expect, test } from "vitest";
import { type ReplyScript, replies } from "../../support/agent.js";
import { useCores } from "../../support/core.js";
import { openApi } from "./api.js";
import { checkOrder } from "./order-rules.js";

const core = useCores();

test("a response is followed to its end, however often the streams of its thread end before", async () => {
  let goOn = (): void => {};
  const released = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const slow: ReplyScript = async function* () {
    yield { type: "text", text: "One moment" };
    await released;
    yield { type: "text", text: " please." };
    yield { type: "end", reason: "stop", providerReason: "stop" };
  };
  const opened = core({ model: replies(slow), heartbeatMs: 8, maxAgeMs: 10 });
  const { follow } = opened.threads;
  let streams = 0;
  opened.threads.follow = (request, signal) => {
    if (++streams === 4) goOn();
    return follow.call(opened.threads, request, signal);
  };
  const created = await openApi(opened).create({ input: "Hello" });
  const events = await created.events();
  expect(streams).toBeGreaterThanOrEqual(4);
  checkOrder(events);
  expect(events.at(-1)?.frame).toMatchObject({
    type: "response.completed",
    response: { output: [{ content: [{ text: "One moment please." }] }] },
  });
});
