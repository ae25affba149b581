// What is told of a sub-run: a fold of the events of its thread. How many calls it has made, what it is doing, whom it waits for,
// what it said last, and how it ended.
import type { ThreadEvent } from "../thread/event.js";
import { Role, RunOutcome, TextPurpose, ToolCallOutcome, ToolCallPhase } from "../thread/schema.js";
import { timestampMs } from "../thread/time.js";
import { waitedFor } from "../tool/delegate/progress-words.js";
import type { SubProgress, SubRunEnd } from "../tool/delegate/sub-runs.js";
import { stillRunning } from "./call-report.js";
import { boundedForModel } from "./model-text.js";

/** What is kept of what it says, in UTF-16 units: more than is ever told. */
const keptUnits = 256 * 1024;

/** What is told of its last words. */
export const lastWordsBytes = 32 * 1024;

type Value<Case> = Extract<ThreadEvent["payload"], { case: Case }>["value"];

export class SubRunFold {
  readonly #childThreadId: string;
  readonly #runId: string;
  /** What is being said, in messages and through calls. */
  readonly #speaking = new Map<string, string>();
  /** Calls that have sub-runs of their own. */
  readonly #delegating = new Set<string>();
  /** What the calls at work do, in the order in which they began. */
  readonly #atWork = new Map<string, string>();
  /** What waits for a person's yes. */
  readonly #waiting = new Map<string, string>();
  #toolCalls = 0;
  #startMs: number | undefined;
  #said = "";
  #brokenOff = "";
  #end: SubRunEnd | undefined;
  #tokens = 0n;

  constructor(childThreadId: string, runId: string) {
    this.#childThreadId = childThreadId;
    this.#runId = runId;
  }

  get progress(): SubProgress {
    const isWaiting = this.#waiting.size > 0;
    const [waitingFor = ""] = this.#waiting.values();
    return {
      toolCalls: this.#toolCalls,
      summary: isWaiting ? waitingFor : ([...this.#atWork.values()].at(-1) ?? ""),
      isWaiting,
    };
  }

  /** Undefined until the run is over. */
  get end(): SubRunEnd | undefined {
    return this.#end;
  }

  /** What the run itself used, when it is over. */
  get tokens(): bigint {
    return this.#tokens;
  }

  take({ payload, runId, time }: ThreadEvent): void {
    if (runId !== this.#runId) return;
    switch (payload.case) {
      case "runStarted":
        this.#startMs = time && timestampMs(time);
        break;
      case "runCompleted":
        this.#complete(payload.value, time && timestampMs(time));
        break;
      case "messageCreated":
        if (payload.value.role === Role.ASSISTANT) this.#speaking.set(payload.value.messageId, "");
        break;
      case "messageDelta":
        this.#hear(payload.value.messageId, payload.value.text);
        break;
      case "messageCompleted":
        this.#hear(payload.value.messageId, payload.value.refusal);
        this.#heard(payload.value.messageId, !payload.value.incomplete);
        break;
      case "toolCallCreated":
        this.#toolCalls++;
        if (payload.value.childThreadId !== "") this.#delegating.add(payload.value.toolCallId);
        break;
      case "toolCallTextDelta":
        if (payload.value.purpose !== TextPurpose.SPEECH) break;
        this.#speaking.set(payload.value.toolCallId, this.#speaking.get(payload.value.toolCallId) ?? "");
        this.#hear(payload.value.toolCallId, payload.value.text);
        break;
      case "toolCallApprovalRequested":
        this.#waiting.set(payload.value.toolCallId, payload.value.summary);
        break;
      case "toolCallApprovalResolved":
        this.#waiting.delete(payload.value.toolCallId);
        break;
      case "toolCallStarted":
        this.#atWork.set(payload.value.toolCallId, payload.value.summary);
        break;
      case "toolCallProgress":
        this.#goOn(payload.value);
        break;
      case "toolCallComplete":
        this.#endCall(payload.value);
        break;
    }
  }

  #hear(id: string, text: string): void {
    const before = this.#speaking.get(id);
    if (before !== undefined && before.length < keptUnits) this.#speaking.set(id, before + text);
  }

  /** What broke off counts only where nothing else was said. */
  #heard(id: string, isWhole: boolean): void {
    const text = this.#speaking.get(id);
    this.#speaking.delete(id);
    if (!text?.trim()) return;
    if (isWhole) this.#said = text;
    else this.#brokenOff = text;
  }

  /** Of a call that has a sub-run of its own, the wait is a wait of this one too. */
  #goOn({ toolCallId, phase, message, startedSummary }: Value<"toolCallProgress">): void {
    if (this.#delegating.has(toolCallId)) {
      if (phase === ToolCallPhase.WAITING) this.#waiting.set(toolCallId, waitedFor(message));
      else this.#waiting.delete(toolCallId);
    }
    const isWorthTelling = message !== "" && message !== stillRunning;
    if (isWorthTelling) this.#atWork.set(toolCallId, `${startedSummary} · ${message}`);
  }

  /** An attempt that was dropped made no calls. */
  #endCall({ toolCallId, outcome, success }: Value<"toolCallComplete">): void {
    if (outcome === ToolCallOutcome.DISCARDED) this.#toolCalls--;
    this.#heard(toolCallId, success);
    this.#atWork.delete(toolCallId);
    this.#waiting.delete(toolCallId);
    this.#delegating.delete(toolCallId);
  }

  #complete({ outcome, finishReason, errorMessage, usage }: Value<"runCompleted">, endMs: number | undefined): void {
    this.#tokens = usage ? usage.inputTokens + usage.outputTokens : 0n;
    this.#end = {
      childThreadId: this.#childThreadId,
      outcome: outcomes[outcome],
      finishReason,
      errorMessage,
      text: boundedForModel(this.#said || this.#brokenOff, lastWordsBytes),
      toolCalls: this.#toolCalls,
      durationMs: Math.max(0, Math.round((endMs ?? 0) - (this.#startMs ?? endMs ?? 0))),
    };
  }
}

const outcomes: Readonly<Record<RunOutcome, SubRunEnd["outcome"]>> = {
  [RunOutcome.UNSPECIFIED]: "failed",
  [RunOutcome.SUCCEEDED]: "succeeded",
  [RunOutcome.FAILED]: "failed",
  [RunOutcome.CANCELLED]: "cancelled",
  [RunOutcome.INCOMPLETE]: "incomplete",
  [RunOutcome.INTERRUPTED]: "interrupted",
};
