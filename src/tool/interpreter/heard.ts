// What an interpreter's process says is not believed: code that got out of its interpreter says it too. Every line is bounded and
// checked; one that is not right ends the process.
import type { Readable } from "node:stream";
import { z } from "zod";
import { bounds } from "./bounds.js";
import type { FromChild } from "./child/messages.js";

const language = z.enum(["python", "javascript"]);
const text = z.string().max(4 * bounds.textUnits);
const base64 = z.string().max(bounds.lineBytes);

const message = z.discriminatedUnion("type", [
  z.object({ type: z.literal("loaded"), language }),
  z.object({ type: z.literal("output"), stream: z.enum(["stdout", "stderr"]), data: base64 }),
  z.object({
    type: z.literal("file"),
    path: z.string().min(1).max(bounds.scratch.pathUnits),
    bytes: z.number().int().min(0),
    data: base64.optional(),
  }),
  z.object({
    type: z.literal("done"),
    value: text.optional(),
    error: z.object({ line: text, trace: text }).optional(),
  }),
  z.object({ type: z.literal("broken"), language, message: text }),
]);

const lineFeed = 0x0a;
/** A line is said in one go. Each piece takes memory beside its bytes: one that comes byte by byte would take a hundred times its own. */
const mostPieces = 16_384;

/** Calls back with each message, until one is not right; then once with what is wrong. */
export function hear(stream: Readable, onMessage: (message: FromChild) => void, onWrong: () => void): void {
  let begun: Buffer[] = [];
  let begunBytes = 0;
  const giveUp = (): void => {
    stream.off("data", take);
    stream.resume();
    begun = [];
    onWrong();
  };
  const take = (piece: Buffer): void => {
    let from = 0;
    for (let end = piece.indexOf(lineFeed); end >= 0; end = piece.indexOf(lineFeed, from)) {
      const line = Buffer.concat([...begun, piece.subarray(from, end)]);
      begun = [];
      begunBytes = 0;
      from = end + 1;
      const heard = read(line);
      if (heard === undefined) {
        giveUp();
        return;
      }
      onMessage(heard);
    }
    begun.push(piece.subarray(from));
    begunBytes += piece.length - from;
    if (begunBytes > bounds.lineBytes || begun.length > mostPieces) giveUp();
  };
  stream.on("data", take);
  stream.on("error", () => {}); // The end of a broken pipe is its end.
}

function read(line: Buffer): FromChild | undefined {
  try {
    const checked = message.safeParse(JSON.parse(line.toString("utf8")));
    return checked.success ? (checked.data as FromChild) : undefined;
  } catch {
    return undefined;
  }
}
