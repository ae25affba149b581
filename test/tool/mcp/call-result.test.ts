import { describe, expect, test } from "vitest";
import { modelText, readResult } from "../../../src/tool/mcp/call-result.js";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const text = (words: string) => ({ type: "text", text: words });

describe("a result", () => {
  test("keeps bytes as parts of their own, and everything else as it came", () => {
    const { result, parts } = readResult({
      content: [
        text("a"),
        { type: "image", data: base64("png"), mimeType: "image/png", annotations: { priority: 1 } },
        { type: "audio", data: base64("wav"), mimeType: "audio/wav" },
        { type: "resource", resource: { uri: "test:///b", mimeType: "image/gif", blob: base64("gif") } },
        { type: "resource", resource: { uri: "test:///a", text: "inside" } },
        { type: "resource_link", uri: "test:///c", name: "c" },
        { type: "hologram", light: 1 },
      ],
      structuredContent: { a: 1 },
      _meta: { further: true },
    });
    expect(parts.map(({ id, mediaType, data }) => [id, mediaType, String(data)])).toEqual([
      ["image-1", "image/png", "png"],
      ["audio-2", "audio/wav", "wav"],
      ["resource-3", "image/gif", "gif"],
    ]);
    expect(result).toEqual({
      content: [
        text("a"),
        { type: "image", part: "image-1", bytes: 3, mimeType: "image/png", annotations: { priority: 1 } },
        { type: "audio", part: "audio-2", bytes: 3, mimeType: "audio/wav" },
        { type: "resource", resource: { uri: "test:///b", mimeType: "image/gif", part: "resource-3", bytes: 3 } },
        { type: "resource", resource: { uri: "test:///a", text: "inside" } },
        { type: "resource_link", uri: "test:///c", name: "c" },
        { type: "hologram", light: 1 },
      ],
      structuredContent: { a: 1 },
      _meta: { further: true },
    });
  });

  test("with more parts than a call can have keeps the rest where they are", () => {
    const image = { type: "image", data: base64("png"), mimeType: "image/png" };
    const { result, parts } = readResult({ content: Array.from({ length: 70 }, () => image) });
    expect(parts).toHaveLength(60);
    expect(result.content.at(-1)).toEqual(image);
  });

  test.each([
    [{ content: [text("\n one \ntwo")] }, "one"],
    [{ content: [text("one"), text("two"), text("three")] }, "one (and 2 more parts)"],
    [
      { content: [{ type: "image", data: base64("png"), mimeType: "image/png" }] },
      "Gave image image/png 3 bytes image-1",
    ],
    [{ content: [{ type: "image" }, { type: "audio" }] }, "Gave 2 parts: image, audio"],
    [{ structuredContent: {} }, "Gave a structured result"],
    [{ content: "?" }, "Gave nothing"],
    [{}, "Gave nothing"],
  ])("%j is told as %j", (answer, summary) => expect(readResult(answer).summary).toBe(summary));
});

describe("what the model reads", () => {
  const read = (answer: Record<string, unknown>) => modelText(readResult(answer).result);

  test.each([
    [{ content: [text("a\nb"), text("c")] }, "a\nb\nc"],
    [{ content: [{ type: "image", data: base64("png"), mimeType: "image/png" }] }, "[image image/png 3 bytes image-1]"],
    [
      { content: [{ type: "resource", resource: { uri: "test:///a", text: "in\nside" } }] },
      "[resource test:///a]\nin\nside",
    ],
    [{ content: [{ type: "resource_link", uri: "test:///c", name: "c" }] }, "[resource_link c test:///c]"],
    [{ content: [], structuredContent: { a: 1 } }, '{"a":1}'],
    [{ content: [{ ...text("eyes"), annotations: { audience: ["user"] } }] }, "[text, for the user only]"],
    [{ content: [{ ...text("both"), annotations: { audience: ["user", "assistant"] } }] }, "both"],
    [{}, ""],
  ])("of %j is %j", (answer, expected) => expect(read(answer)).toBe(expected));
});
