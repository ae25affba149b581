// The calls of a run that need a yes: asked for on the terminal one after the other, allowed by themselves, or, where nobody is
// there to ask, denied by the server. Whoever answers elsewhere is as good: then the question goes away.
import { setTimeout as pause } from "node:timers/promises";
import { ConnectError } from "@connectrpc/connect";
import {
  ToolCallApprovalResolved_Decision as Decision,
  type StreamThreadEventsResponse,
  type ToolCallComplete,
} from "../../gen/heddle/v1/event_pb.js";
import { ApprovalMode } from "../../gen/heddle/v1/run_options_pb.js";
import { ToolCallOutcome } from "../../gen/heddle/v1/tool_call_pb.js";
import { reasonOf } from "../client/index.js";
import { answererOf } from "./answerer.js";
import { readQuestion } from "./approvals-find.js";
import { isWaiting } from "./approvals-text.js";
import type { Io } from "./io.js";
import { commandLine, type Where } from "./next-command.js";
import type { RunClient } from "./run-prompt-client.js";
import { questionOf, type TypedAnswer } from "./run-question.js";
import type { RunView } from "./run-view.js";

/** Who says yes: whoever sits at the terminal, the flag --yes, or nobody. */
export type Answering = "terminal" | "yes" | "nobody";

export function answeringOf({ stdin, stdout }: Io, { yes, json }: { yes: boolean; json: boolean }): Answering {
  if (yes) return "yes";
  return stdin.isTTY && stdout.isTTY && !json ? "terminal" : "nobody";
}

/** What the run is told of it. */
export const approvalModeOf = (answering: Answering): ApprovalMode =>
  answering === "nobody" ? ApprovalMode.DENY : ApprovalMode.ASK;

/** Under which name answers are recorded. */
export const answererFor = (answering: Answering): string =>
  answering === "yes" ? "heddle run --yes" : answererOf("heddle run");

export interface ApproverOptions {
  readonly answering: Answering;
  readonly client: Pick<RunClient, "call" | "content" | "answer">;
  readonly view: Pick<RunView, "ask" | "note">;
  readonly where: Where;
  /** Aborted when the run is to be called off: then nobody is asked any more. */
  readonly signal: AbortSignal;
}

/** A server that is away is asked again so soon. */
const retryMs = 1_000;

export class Approver {
  readonly #options: ApproverOptions;
  readonly #leaving = new AbortController();
  /** The questions that are open, in the order in which they were asked. */
  readonly #open = new Map<string, AbortController>();
  /** The question before it is settled. */
  #before: Promise<void> = Promise.resolve();
  #hasToldWhatToDo = false;

  constructor(options: ApproverOptions) {
    this.#options = options;
  }

  /** Contract: called with every event of the run in order. */
  see({ payload }: StreamThreadEventsResponse): void {
    switch (payload.case) {
      case "toolCallApprovalRequested":
        this.#asked(payload.value.toolCallId, payload.value.approvalSha256);
        break;
      case "toolCallApprovalResolved":
        this.#settled(payload.value.toolCallId);
        break;
      case "toolCallComplete":
        this.#settled(payload.value.toolCallId);
        this.#tellWhatToDo(payload.value);
        break;
    }
  }

  /** Nobody is asked any more. Resolves when the terminal is free. */
  async close(): Promise<void> {
    this.#leaving.abort();
    await this.#before;
  }

  #asked(toolCallId: string, sha256: Uint8Array): void {
    const { answering, signal } = this.#options;
    if (answering === "nobody") return;
    const open = new AbortController();
    this.#open.set(toolCallId, open);
    const until = AbortSignal.any([open.signal, this.#leaving.signal, signal]);
    if (answering === "yes") {
      const yes = { decision: "allowed" } as const;
      void this.#insist(until, () => this.#send(yes, { toolCallId, sha256, signal: until }));
      return;
    }
    const before = this.#before;
    this.#before = before.then(() => this.#insist(until, () => this.#askFor(toolCallId, until)));
  }

  #settled(toolCallId: string): void {
    this.#open.get(toolCallId)?.abort();
    this.#open.delete(toolCallId);
  }

  async #askFor(toolCallId: string, signal: AbortSignal): Promise<void> {
    const { client, view, where } = this.#options;
    const read = await readQuestion(client, toolCallId, signal);
    if (read.toolCall?.approval === undefined || !isWaiting(read.toolCall)) return;
    const seeAll = commandLine(`approvals show ${toolCallId}`, where);
    const answer = await view.ask(questionOf(read, { seeAll, nowMs: Date.now() }), signal);
    // The answer is for what was read and shown.
    const sha256 = read.toolCall.approval.approvalSha256;
    await this.#send(answer, { toolCallId, sha256, signal }).catch((reason) => {
      if (!signal.aborted && !isRefusal(reason)) view.note("the answer did not arrive, and is asked for again");
      throw reason;
    });
  }

  async #send(answer: TypedAnswer, { toolCallId, sha256, signal }: Addressee): Promise<void> {
    const { client, answering } = this.#options;
    const isYes = answer.decision === "allowed";
    await client.answer(
      {
        toolCallId,
        approvalSha256: sha256,
        decision: isYes ? Decision.ALLOWED : Decision.DENIED,
        reason: isYes ? "" : answer.reason,
        resolvedBy: answererFor(answering),
      },
      signal,
    );
  }

  /** Until it is done, there is no more to do, or the server itself says no. */
  async #insist(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      try {
        return await work();
      } catch (reason) {
        if (signal.aborted) return;
        if (isRefusal(reason)) {
          this.#options.view.note(`the answer was not taken: ${ConnectError.from(reason).rawMessage}`);
          return;
        }
        await pause(retryMs, undefined, { signal }).catch(() => {});
      }
    }
  }

  /** Once: it is the same for all of them. */
  #tellWhatToDo({ outcome, error }: ToolCallComplete): void {
    const { answering, view } = this.#options;
    const isForNobody = outcome === ToolCallOutcome.DENIED && error?.kind === "nobody_to_ask";
    if (answering !== "nobody" || !isForNobody || this.#hasToldWhatToDo) return;
    this.#hasToldWhatToDo = true;
    view.note(
      "calls that need a yes are denied, for nobody can be asked here: run it on a terminal, add --yes, or set agent.trusted in the configuration",
    );
  }
}

interface Addressee {
  readonly toolCallId: string;
  readonly sha256: Uint8Array;
  readonly signal: AbortSignal;
}

/** The server has looked at it and said no. Anything else may be tried again. */
const isRefusal = (reason: unknown): boolean =>
  ![undefined, "SHUTTING_DOWN"].includes(reasonOf(ConnectError.from(reason)));
