// What is open in a thread: its run, and the calls, messages, reasonings and discoveries of the run. It is the fold of the
// events since RunStarted: the recorder asks it whether an event is allowed (T2), and recovery rebuilds it from the log.
import {
  type CallPayload,
  isCallPayload,
  isProcessPayload,
  isStored,
  type ProcessPayload,
  type StoredPayload,
  type ThreadEvent,
} from "./event.js";
import { ForkedMap } from "./forked-map.js";
import { limits } from "./limits.js";
import { afterStep, createdCall, type OpenCall } from "./open-call.js";
import { SeenIds } from "./seen-ids.js";
import { allowedSteps, callStep, callTransitions, stepWords } from "./tool-call.js";

export interface Violation {
  /** Where the subject stood. */
  readonly state: string;
  /** What would have been right. */
  readonly rule: string;
}

export interface OpenRun {
  readonly runId: string;
  readonly startedSequence: bigint;
  readonly suspended: boolean;
}

export class ThreadState {
  run: OpenRun | undefined;
  readonly calls: ForkedMap<string, OpenCall>;
  readonly messages: ForkedMap<string, true>;
  readonly reasonings: ForkedMap<string, true>;
  /** Open discoveries and the label of the server asked. */
  readonly discoveries: ForkedMap<string, string>;
  /** Calls, messages, reasonings and discoveries of the run that are over: nothing follows (T2). */
  #over: SeenIds;
  /** Calls created since `settle`, of whatever run: the log does not know them yet. */
  readonly #freshCalls: ForkedMap<string, true>;

  constructor(from?: ThreadState) {
    this.run = from?.run;
    this.calls = from?.calls.fork() ?? new ForkedMap();
    this.messages = from?.messages.fork() ?? new ForkedMap();
    this.reasonings = from?.reasonings.fork() ?? new ForkedMap();
    this.discoveries = from?.discoveries.fork() ?? new ForkedMap();
    this.#over = from ? from.#over.fork() : new SeenIds();
    this.#freshCalls = from ? from.#freshCalls.fork() : new ForkedMap();
  }

  /** A copy to try something on. */
  fork(): ThreadState {
    return new ThreadState(this);
  }

  /** What was folded is stored: forks need not carry it any more. */
  settle(): void {
    this.#over.settle();
    if (this.#freshCalls.size > 0) this.#freshCalls.clear();
  }

  /** Why the event is not allowed where things stand; undefined when it is. */
  violation(event: ThreadEvent): Violation | undefined {
    const { payload } = event;
    if (!isStored(payload)) return { state: "", rule: "only stored events can be recorded, not control frames" };
    // They outlive runs, so that the fold of a run does not know them: recorder/processes.ts does.
    if (isProcessPayload(payload)) return undefined;
    const run = this.run;
    if (payload.case === "runStarted") {
      return run && { state: "run open", rule: `run ${run.runId} is open: complete it before another one starts` };
    }
    if (!run) return { state: "idle", rule: "no run is open: record run_started first" };
    if (event.runId !== run.runId) return { state: "run open", rule: `run_id must be ${run.runId}, the open run` };
    return isCallPayload(payload) ? this.#callViolation(payload) : this.#runViolation(payload, run);
  }

  #callViolation(payload: CallPayload): Violation | undefined {
    const id = payload.value.toolCallId;
    const open = this.calls.get(id);
    if (payload.case === "toolCallCreated") {
      if (this.#freshCalls.has(id) && !open) return { state: "over", rule: "a tool_call_id is never used twice" };
      return this.#mustBeNew(id, open?.state, this.calls);
    }
    if (!open) return this.#notOpen(id, "tool call");
    const step = callStep(payload);
    if (callTransitions[open.state][step] !== "illegal") return undefined;
    const allowed = allowedSteps(open.state).map((allowed) => stepWords[allowed]);
    return {
      state: open.state,
      rule: `after ${open.state} comes one of: ${allowed.join(", ")}; this is ${stepWords[step]}`,
    };
  }

  #runViolation(payload: Exclude<StoredPayload, CallPayload | ProcessPayload>, run: OpenRun): Violation | undefined {
    switch (payload.case) {
      case "runStarted":
        return undefined;
      case "runSuspended": {
        const missing = payload.value.openToolCallIds.find((id) => !this.calls.has(id));
        if (run.suspended) return { state: "suspended", rule: "the run is suspended already" };
        return missing === undefined ? undefined : { state: "running", rule: `call ${missing} is not open` };
      }
      case "runResumed":
        return run.suspended ? undefined : { state: "running", rule: "only a suspended run can be resumed" };
      case "runCompleted": {
        const open = this.#firstOpen();
        return open === undefined ? undefined : { state: "running", rule: `complete ${open} before the run` };
      }
      case "messageCreated": {
        const id = payload.value.messageId;
        return this.#mustBeNew(id, this.messages.has(id) ? "created" : undefined, this.messages);
      }
      case "messageDelta":
      case "messageCompleted": {
        const id = payload.value.messageId;
        return this.messages.has(id) ? undefined : this.#notOpen(id, "message");
      }
      case "reasoningDelta": {
        const id = payload.value.reasoningId;
        return this.reasonings.has(id) ? undefined : this.#mustBeNew(id, undefined, this.reasonings);
      }
      case "reasoningCompleted": {
        const id = payload.value.reasoningId;
        return this.reasonings.has(id) ? undefined : this.#notOpen(id, "reasoning");
      }
      case "toolDiscoveryStarted": {
        const id = payload.value.discoveryId;
        return this.#mustBeNew(id, this.discoveries.has(id) ? "started" : undefined, this.discoveries);
      }
      case "toolDiscoveryComplete": {
        const id = payload.value.discoveryId;
        return this.discoveries.has(id) ? undefined : this.#notOpen(id, "discovery");
      }
      case "planUpdated":
        return undefined;
    }
  }

  #mustBeNew(id: string, state: string | undefined, open: { readonly size: number }): Violation | undefined {
    if (state) return { state, rule: "it begins once: this id is in use" };
    if (this.#over.has(id)) return { state: "over", rule: "nothing follows its end: this id has been used" };
    if (open.size >= limits.openSubjects) {
      return {
        state: "full",
        rule: `at most ${limits.openSubjects} of a kind are open at a time: complete some first`,
      };
    }
    if (this.#over.size + open.size >= limits.subjectsPerRun) {
      return {
        state: "full",
        rule: `a run has at most ${limits.subjectsPerRun} of them: complete it and start another`,
      };
    }
    return undefined;
  }

  #notOpen(id: string, what: string): Violation {
    return this.#over.has(id)
      ? { state: "over", rule: `nothing follows the end of a ${what}` }
      : { state: "unknown", rule: `no such ${what} in the open run: record its beginning first` };
  }

  #firstOpen(): string | undefined {
    for (const [what, open] of Object.entries({
      "tool call": this.calls.keys(),
      message: this.messages.keys(),
      reasoning: this.reasonings.keys(),
      discovery: this.discoveries.keys(),
    })) {
      const { value: id, done } = open.next();
      if (!done) return `${what} ${id}`;
    }
    return undefined;
  }

  /**
   * Takes in an event that is allowed and carries its sequence. Returns the call whose document changed, if one did:
   * over ones too, which the state itself then forgets.
   */
  apply(event: ThreadEvent): OpenCall | undefined {
    const { payload } = event;
    if (!isStored(payload)) return undefined;
    if (isCallPayload(payload)) return this.#applyToCall(event, payload);
    switch (payload.case) {
      case "runStarted":
        this.run = { runId: event.runId, startedSequence: event.sequence, suspended: false };
        break;
      case "runSuspended":
      case "runResumed":
        if (this.run) this.run = { ...this.run, suspended: payload.case === "runSuspended" };
        break;
      case "runCompleted":
        this.run = undefined;
        for (const open of [this.calls, this.messages, this.reasonings, this.discoveries]) open.clear();
        this.#over = new SeenIds();
        break;
      case "messageCreated":
        this.messages.set(payload.value.messageId, true);
        break;
      case "messageCompleted":
        this.messages.delete(payload.value.messageId);
        this.#over.add(payload.value.messageId);
        break;
      case "reasoningDelta":
        if (!this.reasonings.has(payload.value.reasoningId)) this.reasonings.set(payload.value.reasoningId, true);
        break;
      case "reasoningCompleted":
        this.reasonings.delete(payload.value.reasoningId);
        this.#over.add(payload.value.reasoningId);
        break;
      case "toolDiscoveryStarted":
        this.discoveries.set(payload.value.discoveryId, payload.value.serverLabel);
        break;
      case "toolDiscoveryComplete":
        this.discoveries.delete(payload.value.discoveryId);
        this.#over.add(payload.value.discoveryId);
        break;
      case "messageDelta":
      case "planUpdated":
      case "processStarted":
      case "processExited":
        break;
    }
    return undefined;
  }

  #applyToCall(event: ThreadEvent, payload: CallPayload): OpenCall | undefined {
    const id = payload.value.toolCallId;
    if (payload.case === "toolCallCreated") {
      const created = createdCall(event, payload.value);
      this.#freshCalls.set(id, true);
      this.calls.set(id, created);
      return created;
    }
    const before = this.calls.get(id);
    if (!before) return undefined;
    const after = afterStep(before, event, payload);
    if (after.state === "over") {
      this.calls.delete(id);
      this.#over.add(id);
    } else this.calls.set(id, after);
    return after.call === before.call ? undefined : after;
  }
}
