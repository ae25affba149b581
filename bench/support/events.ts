// The event that everything is measured with: a line of a tool's output, about 260 bytes as stored.

import { OutputStream } from "../../gen/heddle/v1/event_pb.js";
import { newEvent, type ThreadEvent } from "../../src/thread/event.js";
import { newId } from "../../src/thread/ids.js";
import { now } from "../../src/thread/time.js";
import { RunScript } from "../../test/support/scenario.js";

export const eventTextBytes = 120;

const line =
  "PASS test/log/segment.test.ts > packs what fits into one segment, and says where it ends (23 tests, 184 ms)\n";

export const outputText = (bytes: number): string => line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes);

/** A run whose one call is running: from here on, lines of output. */
export class OutputScript {
  readonly #script = new RunScript();
  readonly #callId = newId();

  opening(): ThreadEvent[] {
    const script = this.#script;
    const id = this.#callId;
    return [script.started(), script.created(id), script.inputCompleted(id), script.callStarted(id)];
  }

  line(textBytes: number): ThreadEvent {
    return this.#script.output(this.#callId, outputText(textBytes));
  }
}

/** Lines of output as a thread has them, from a sequence on. */
export function storedLines(threadId: string, first: bigint, count: number): ThreadEvent[] {
  const runId = newId();
  const toolCallId = newId();
  const text = outputText(eventTextBytes);
  return Array.from({ length: count }, (_, index) =>
    newEvent({
      threadId,
      sequence: first + BigInt(index),
      time: now(),
      runId,
      payload: {
        case: "toolCallOutputDelta",
        value: { toolCallId, stream: OutputStream.STDOUT, offset: BigInt(index * text.length), text },
      },
    }),
  );
}

export const readyEvent = (threadId: string): ThreadEvent =>
  newEvent({ threadId, time: now(), payload: { case: "ready", value: {} } });

export const caughtUpEvent = (threadId: string): ThreadEvent =>
  newEvent({ threadId, time: now(), payload: { case: "caughtUp", value: {} } });
