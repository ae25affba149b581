// Raw HTTP/2 that sends a thread's frames out of memory. Arguments: the thread's id and its number of events.

import { encodeFrame } from "../../src/thread/frame.js";
import { startRawReplay } from "../peers/raw-http2.js";
import { answerAsks } from "../support/ask.js";
import { storedLines } from "../support/events.js";

const [threadId, events] = process.argv.slice(2) as [string, string];
const port = await startRawReplay(Buffer.concat(storedLines(threadId, 1n, Number(events)).map(encodeFrame)));
const asks = { port: () => port };

export type ReplayAsks = typeof asks;
answerAsks(asks);
