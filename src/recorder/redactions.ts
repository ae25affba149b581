// The redactors of one thread's open texts: one per message, call and stream, so that a secret cut into several deltas is
// still seen. `whole` is for texts that come in one piece.
import type { StoredPayload } from "../thread/event.js";
import { ForkedMap } from "../thread/forked-map.js";
import { limits } from "../thread/limits.js";
import type { Redactor, StreamRedactor } from "../thread/redact.js";

type Delta = Extract<
  StoredPayload,
  { case: "messageDelta" | "reasoningDelta" | "toolCallInputDelta" | "toolCallTextDelta" | "toolCallOutputDelta" }
>;

type Lanes = ForkedMap<string, StreamRedactor>;

export class Redactions {
  readonly #redactor: Redactor;
  /** By subject, so that one that is over is forgotten at once. */
  readonly #subjects: ForkedMap<string, Lanes>;

  constructor(redactor: Redactor, subjects = new ForkedMap<string, Lanes>()) {
    this.#redactor = redactor;
    this.#subjects = subjects;
  }

  /** A copy to try something on: what it takes in does not touch the original. */
  fork(): Redactions {
    return new Redactions(this.#redactor, this.#subjects.fork());
  }

  whole(text: string): string {
    return this.#redactor.text(text);
  }

  /** One that may have been cut off at its end. */
  wholeIfCut(text: string): string {
    return this.#redactor.cutText(text);
  }

  piece(delta: Delta): string {
    const { subject, lane } = laneOf(delta);
    return this.inStream(subject, lane, delta.value.text);
  }

  /** The next piece of a named text of a subject. */
  inStream(subject: string, lane: string, text: string): string {
    const lanes = this.#subjects.get(subject)?.fork() ?? new ForkedMap();
    const stream = lanes.get(lane)?.fork() ?? this.#redactor.stream();
    lanes.set(lane, stream);
    this.#subjects.set(subject, lanes);
    return stream.push(text);
  }

  /** How many texts of a kind a subject has. */
  count(subject: string, kind: string): number {
    return [...(this.#subjects.get(subject)?.keys() ?? [])].filter((lane) => lane.startsWith(kind)).length;
  }

  has(subject: string, lane: string): boolean {
    return this.#subjects.get(subject)?.has(lane) ?? false;
  }

  /** Forgets the texts of a subject that is over. */
  forget(subject: string): void {
    this.#subjects.delete(subject);
  }
}

function laneOf(delta: Delta): { subject: string; lane: string } {
  switch (delta.case) {
    case "messageDelta":
      return { subject: delta.value.messageId, lane: "text" };
    case "reasoningDelta":
      return { subject: delta.value.reasoningId, lane: "text" };
    case "toolCallInputDelta":
      return { subject: delta.value.toolCallId, lane: "input" };
    case "toolCallTextDelta":
      return { subject: delta.value.toolCallId, lane: fieldLane(delta.value.field) };
    case "toolCallOutputDelta":
      return { subject: delta.value.toolCallId, lane: `output ${delta.value.stream}` };
  }
}

const fieldPrefix = "field ";
const fieldLane = (field: string): string => `${fieldPrefix}${field}`;

/** True when a delta of this field would be one field too many for its call. */
export const tooManyFields = (redactions: Redactions, toolCallId: string, field: string): boolean =>
  !redactions.has(toolCallId, fieldLane(field)) && redactions.count(toolCallId, fieldPrefix) >= limits.textFields;
