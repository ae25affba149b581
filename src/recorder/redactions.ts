// The redactors of one thread's open texts: one per message, call and stream, so that a secret cut into several deltas is
// still seen. `whole` is for texts that come in one piece.
import type { StoredPayload } from "../thread/event.js";
import { ForkedMap } from "../thread/forked-map.js";
import type { Redactor, StreamRedactor } from "../thread/redact.js";

type Delta = Extract<
  StoredPayload,
  { case: "messageDelta" | "reasoningDelta" | "toolCallInputDelta" | "toolCallTextDelta" | "toolCallOutputDelta" }
>;

export class Redactions {
  readonly #redactor: Redactor;
  readonly #streams: ForkedMap<string, StreamRedactor>;

  constructor(redactor: Redactor, streams = new ForkedMap<string, StreamRedactor>()) {
    this.#redactor = redactor;
    this.#streams = streams;
  }

  /** A copy to try something on: what it takes in does not touch the original. */
  fork(): Redactions {
    return new Redactions(this.#redactor, this.#streams.fork());
  }

  whole(text: string): string {
    return this.#redactor.text(text);
  }

  piece(delta: Delta): string {
    return this.inStream(laneOf(delta), delta.value.text);
  }

  /** The next piece of a named text. */
  inStream(lane: string, text: string): string {
    const stream = (this.#streams.get(lane) ?? this.#redactor.stream()).fork();
    this.#streams.set(lane, stream);
    return stream.push(text);
  }

  /** Forgets the texts of a subject that is over. */
  forget(subjectId: string): void {
    for (const lane of [...this.#streams.keys()]) if (lane.startsWith(subjectId)) this.#streams.delete(lane);
  }
}

function laneOf(delta: Delta): string {
  switch (delta.case) {
    case "messageDelta":
      return `${delta.value.messageId} text`;
    case "reasoningDelta":
      return `${delta.value.reasoningId} reasoning`;
    case "toolCallInputDelta":
      return `${delta.value.toolCallId} input`;
    case "toolCallTextDelta":
      return `${delta.value.toolCallId} field ${delta.value.field}`;
    case "toolCallOutputDelta":
      return `${delta.value.toolCallId} output ${delta.value.stream}`;
  }
}
