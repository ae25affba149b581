// An input and a result that are far larger than any event: whole and exact behind ReadToolCallContent, never on the stream.
import { createHash } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { RunOutcome, ToolCallOutcome } from "../../src/thread/schema.js";
import { useAgentServers } from "../fixtures/engine/agent-server.js";
import { Session } from "../fixtures/engine/session.js";
import { valuesOf } from "../support/agent.js";

const mebibyte = 1024 * 1024;
/** What goes out of an input as deltas, and what GetToolCall sends along. */
const [inputDeltaBytes, inlineBytes] = [512 * 1024, mebibyte];
const pieceBytes = 256 * 1024;

/** Each line is another: a piece that is lost, repeated or misplaced shows. */
const line = "of many – größer als jedes Ereignis 🧵";
const lines = (count: number): string => Array.from({ length: count }, (_, index) => `${index} ${line}\n`).join("");
const linesIn = (bytes: number): number => Math.ceil(bytes / Buffer.byteLength(`${line}\n`));

const useServer = useAgentServers();
let session: Session;
afterEach(() => session.close());

test("a 3 MB input and a 20 MB result are whole and exact, and the stream stays thin", async () => {
  const times = linesIn(20 * mebibyte);
  const text = lines(linesIn(3 * mebibyte));
  const input = Buffer.from(JSON.stringify({ times, text }));
  const events = [{ toolCall: { name: "repeat", input: input.toString() } }];
  const expected = { lastTool: `${text.length} units came in` };
  const script = { chunk: 10_000, replies: [{ events }, { expect: expected, events: [{ text: "Large." }] }] };
  const server = await useServer({ script });
  await server.start();
  session = new Session(server.url);

  const { threadId } = await session.start("Go");
  const seen = await session.until(threadId, "runCompleted");
  expect(valuesOf(seen, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
  const result = Buffer.from(
    JSON.stringify({ text: lines(times).replaceAll(line, `0 ${line}`), inputUnits: text.length }),
  );
  const [inputCompleted] = valuesOf(seen, "toolCallInputCompleted");
  expect(inputCompleted).toMatchObject({ inputBytes: BigInt(input.length), deltasTruncated: true });
  expect(Buffer.from(inputCompleted!.inputSha256)).toEqual(createHash("sha256").update(input).digest());
  const [complete] = valuesOf(seen, "toolCallComplete");
  const { toolCallId } = complete!;
  expect(complete).toMatchObject({ outcome: ToolCallOutcome.SUCCEEDED, resultBytes: BigInt(result.length) });
  const deltas = valuesOf(seen, "toolCallInputDelta").map((delta) => delta.text);
  const streamed = Buffer.from(deltas.join(""));
  expect(streamed.equals(input.subarray(0, streamed.length))).toBe(true);
  expect(streamed.length).toBeGreaterThan(inputDeltaBytes - 64 * 1024);
  expect(streamed.length).toBeLessThanOrEqual(inputDeltaBytes);

  expect((await readBody(toolCallId, "input")).equals(input)).toBe(true);
  expect((await readBody(toolCallId, "result")).equals(result)).toBe(true);
  const offset = 7 * mebibyte + 13;
  expect((await readBody(toolCallId, "result", offset)).equals(result.subarray(offset))).toBe(true);
  const { toolCall, contents } = await session.clients.toolCalls.getToolCall({ toolCallId });
  expect(toolCall!.contents.map(({ contentId, sizeBytes }) => [contentId, Number(sizeBytes)]).sort()).toEqual([
    ["input", input.length],
    ["model", Buffer.byteLength(expected.lastTool)],
    ["result", result.length],
  ]);
  expect(contents.every(({ data }) => data.length <= inlineBytes)).toBe(true);
  expect(contents.map(({ info }) => info!.contentId)).toEqual(["model"]);
});

async function readBody(toolCallId: string, contentId: string, offset = 0): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let next = offset;
  const request = { toolCallId, contentId, offset: BigInt(offset) };
  for await (const piece of session.clients.toolCalls.readToolCallContent(request)) {
    expect([Number(piece.offset), piece.data.length <= pieceBytes]).toEqual([next, true]);
    next += piece.data.length;
    pieces.push(piece.data);
  }
  return Buffer.concat(pieces);
}
