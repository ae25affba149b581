// A thread to look at, recorded through a real server.
import { newId } from "../../src/thread/ids.js";
import { grpcClients } from "../support/clients.js";
import { inputChunk, RunScript, resultChunk } from "../support/scenario.js";

/** A thread with a message of so many pieces and one whole call. */
export async function recordThread(url: string, pieces: number) {
  const { threads, recorder } = grpcClients(url);
  const { thread } = await threads.createThread({ title: "recorded" });
  const threadId = thread!.id;
  const { recordingId, epoch } = await recorder.openRecording({ threadId, producer: "a test" });
  const run = new RunScript();
  const [messageId, callId] = [newId(), newId()];
  const piece = (n: number) =>
    run.event({ case: "messageDelta", value: { messageId, text: `piece ${n} ${"x".repeat(200)}` } });
  let producerSequence = 0n;
  const record = (events: ReturnType<RunScript["event"]>[], contents: ReturnType<typeof inputChunk>[] = []) =>
    recorder.recordEvents({ threadId, recordingId, epoch, producerSequence: ++producerSequence, events, contents });
  await record(
    [run.started(), ...run.wholeCall(callId), run.event({ case: "messageCreated", value: { messageId, role: 2 } })],
    [inputChunk(callId, '{"command":"npm test"}'), resultChunk(callId, '{"passed":42}')],
  );
  for (let first = 1; first <= pieces; first += 500) {
    await record(Array.from({ length: Math.min(500, pieces - first + 1) }, (_, n) => piece(first + n)));
  }
  return { threadId, callId, piece, record };
}
