// Images that come with a request: kept as bodies with the message, and seen by the model in this turn and in later ones.
import { describe, expect, onTestFinished, test } from "vitest";
import { openLmdbLog } from "../../../src/log/lmdb.js";
import type { ModelRequest } from "../../../src/model/model.js";
import { limits } from "../../../src/thread/limits.js";
import { replies, said, valuesOf } from "../../support/agent.js";
import { storedEvents, useCores } from "../../support/core.js";
import { pngBytes, pngUrl } from "../../support/images.js";
import { newDataDir, removeDataDir } from "../../support/server-process.js";
import { openApi } from "./api.js";

const core = useCores();
const user = (...content: readonly object[]) => [{ role: "user", content }];
const text = (words: string) => ({ type: "input_text", text: words });
const image = (image_url: string, more: object = {}) => ({ type: "input_image", image_url, ...more });
const png = { mediaType: "image/png", base64: pngBytes().toString("base64"), detail: "high" };
const linked = { url: "https://loom.example/a.png", detail: "" };

/** The first image of the first message. */
function bytesSeen({ messages: [message] }: ModelRequest): Buffer {
  const [seen] = message?.role === "user" ? (message.images ?? []) : [];
  return Buffer.from(seen && "base64" in seen ? seen.base64 : "", "base64");
}

describe("an image", () => {
  test("reaches the model with the words, as bytes or as a URL, and no event holds it", async () => {
    const model = replies(said("A loom."));
    const opened = core({ model });
    const { create } = openApi(opened);
    const input = user(text("What is it?"), image(pngUrl(), { detail: "high" }), image(linked.url));
    const created = await create({ input });
    await created.events();
    expect(model.requests[0]?.messages).toEqual([{ role: "user", text: "What is it?", images: [png, linked] }]);
    const events = await storedEvents(opened, created.stored.threadId);
    expect(valuesOf(events, "messageCompleted")[0]?.attachments).toMatchObject([
      { contentId: "image-0", mediaType: "image/png", sizeBytes: 68n, url: "", detail: "high" },
      { contentId: "", sizeBytes: 0n, url: linked.url, detail: "" },
    ]);
    const shown = JSON.stringify(events, (_, value) => (typeof value === "bigint" ? String(value) : value));
    expect(shown).not.toContain(png.base64.slice(20, 40));
  });

  test("is seen in the next turn, and by a server that starts anew", async () => {
    const opened = core({ model: replies(said("A loom.")) });
    const first = await openApi(opened).create({ input: user(image(pngUrl(), { detail: "high" })) });
    await first.events();
    const model = replies(said("Brown."));
    const second = await openApi(core({ model, log: opened.log })).create({
      previous_response_id: first.id,
      input: "Which colour?",
    });
    await second.events();
    expect(model.requests[0]?.messages).toEqual([
      { role: "user", text: "", images: [png] },
      { role: "assistant", text: "A loom.", calls: [] },
      { role: "user", text: "Which colour?" },
    ]);
  });

  test("goes along where a conversation takes another way", async () => {
    const model = replies(said("A loom."), said("Brown."), said("Old."));
    const { create } = openApi(core({ model }));
    const first = await create({ input: user(image(pngUrl(), { detail: "high" })) });
    await first.events();
    await (await create({ previous_response_id: first.id, input: "Which colour?" })).events();
    const other = await create({ previous_response_id: first.id, input: "How old?" });
    await other.events();
    expect(other.stored.threadId).not.toBe(first.stored.threadId);
    expect(model.requests[2]?.messages).toMatchObject([{ images: [png] }, {}, { text: "How old?" }]);
  });

  test("of megabytes comes back as it was", async () => {
    const model = replies(said("Large."));
    const size = 2 * limits.contentChunkBytes + 7;
    await (await openApi(core({ model })).create({ input: user(image(pngUrl(size))) })).events();
    expect(bytesSeen(model.requests[0]!).equals(pngBytes(size))).toBe(true);
  });

  test("is on disk: a server upon the same data shows it to the model again, byte for byte", async () => {
    const dir = await newDataDir();
    onTestFinished(() => removeDataDir(dir));
    const size = 2 * limits.contentChunkBytes + 7;
    const before = await openLmdbLog({ dir });
    const first = await openApi(core({ model: replies(said("Large.")), log: before })).create({
      input: user(image(pngUrl(size))),
    });
    await first.events();
    await before.close();
    const model = replies(said("Still large."));
    const after = await openLmdbLog({ dir });
    onTestFinished(() => after.close());
    const second = await openApi(core({ model, log: after })).create({ previous_response_id: first.id, input: "And?" });
    await second.events();
    expect(bytesSeen(model.requests[0]!).equals(pngBytes(size))).toBe(true);
  });

  test("in bytes is listed among the input items without them", async () => {
    const { create } = openApi(core({ model: replies(said("A loom.")) }));
    const created = await create({ input: user(image(pngUrl()), image(linked.url)) });
    expect(JSON.parse(created.stored.record).input[0].content).toEqual([
      { type: "input_image", image_url: null },
      { type: "input_image", image_url: linked.url },
    ]);
  });
});

test("of more images than a model is shown, the newest are; words stand for the others", async () => {
  const { perMessage, perRequest } = limits.images;
  const model = replies(said("Many."));
  const messages = Array.from({ length: 3 }, (_, index) => ({
    role: "user",
    content: [text(`Set ${index}`), ...Array.from({ length: perMessage }, () => image(pngUrl()))],
  }));
  await (await openApi(core({ model })).create({ input: messages })).events();
  const told = model.requests[0]!.messages.map((message) => (message.role === "user" ? message : undefined));
  expect(told.map((message) => message?.images?.length ?? 0)).toEqual([0, perMessage, perMessage]);
  expect(told[0]?.text).toBe(`Set 0\n\n(${3 * perMessage - perRequest} images of this message left out)`);
});

describe("refused by name", () => {
  const refused = async (input: unknown) => {
    const { create } = openApi(core({ model: replies() }));
    return create({ input }).then(
      () => undefined,
      (error: { param: string; message: string; status: number }) => error,
    );
  };

  test.each([
    [
      "an uploaded file",
      { type: "input_image", file_id: "file_1" },
      "input[0].content[1].file_id",
      /no uploaded files/,
    ],
    ["neither", { type: "input_image" }, "input[0].content[1].image_url", /must be given/],
    ["http", image("http://loom.example/a.png"), "input[0].content[1].image_url", /must be an https URL/],
    ["a file of this machine", image("file:///etc/passwd"), "input[0].content[1].image_url", /must be an https URL/],
    [
      "another kind",
      image("data:image/svg+xml;base64,PHN2Zz4="),
      "input[0].content[1].image_url",
      /must be image\/png/,
    ],
    ["no base64", image("data:image/png;base64,%%%%"), "input[0].content[1].image_url", /must be base64/],
    [
      "other bytes than it says",
      image("data:image/png;base64,R0lGODlh"),
      "input[0].content[1].image_url",
      /is no image/,
    ],
    ["an unknown field", image(pngUrl(), { alt: "a" }), "input[0].content[1].alt", /Unknown parameter/],
    ["an unknown detail", image(pngUrl(), { detail: "most" }), "input[0].content[1].detail", /Invalid value/],
  ])("%s", async (_, part, param, message) => {
    const error = await refused(user(text("What is it?"), part));
    expect(error).toMatchObject({ status: 400, param });
    expect(error?.message).toMatch(message);
  });

  test("one too large", async () => {
    const error = await refused(user(image(pngUrl(limits.images.bytes + 3))));
    expect(error).toMatchObject({ status: 400, param: "input[0].content[0].image_url" });
  });

  test("one too many", async () => {
    const error = await refused(user(...Array.from({ length: 17 }, () => image(pngUrl()))));
    expect(error).toMatchObject({ status: 400, param: "input[0].content[16].image_url" });
  });

  test("an assistant's", async () => {
    const error = await refused([{ role: "assistant", content: [image(pngUrl())] }]);
    expect(error).toMatchObject({ status: 400, param: "input[0].content[0]" });
  });
});
