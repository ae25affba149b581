// A call that this executor has claimed. Every request about it may be made again when its answer is lost: the claim by its token, a
// report by its number, a piece of a body by its place, the end because there is only one.
import { randomBytes } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import type {
  CompleteToolCallRequestSchema,
  ReportToolCallRequestSchema,
} from "../../gen/heddle/v1/tool_call_service_pb.js";
import { insist, reasonOf } from "../client/index.js";
import { limits } from "../thread/limits.js";
import type { ContentRole } from "../thread/schema.js";
import { durationFromMs } from "../thread/time.js";
import { answerMs, type ExecutorServer, patience } from "./executor-server.js";

/** The call is not ours any more: it is over, or its thread is gone. */
export class CallLost extends Error {
  constructor(message: string, cause?: ConnectError) {
    super(message, { cause });
  }
}

interface Claiming {
  readonly server: ExecutorServer;
  readonly toolCallId: string;
  readonly executorName: string;
  readonly leaseMs: number;
  /** Gives up. */
  readonly signal: AbortSignal;
}

const tokenBytes = 24;

/** What a server says of a call that is not to be had, or not any more. */
const lostReasons: readonly (string | undefined)[] = [
  "TOOL_CALL_OVER",
  "TOOL_CALL_CLAIMED",
  "TOOL_CALL_NOT_OFFERED",
  "TOOL_CALL_NOT_OURS",
  "TOOL_CALL_NOT_FOUND",
  "CLAIM_MISMATCH",
  "THREAD_DELETED",
  "THREAD_NOT_FOUND",
];

/** Undefined: somebody else has it, or nobody needs it any more. Resolves only when the server has said so: nothing runs on a guess. */
export async function claimCall(claiming: Claiming): Promise<HeldCall | undefined> {
  const { server, toolCallId, executorName, leaseMs, signal } = claiming;
  const claimToken = randomBytes(tokenBytes).toString("base64url");
  const request = { toolCallId, executorName, claimToken, leaseDuration: durationFromMs(leaseMs) };
  try {
    await insist(
      () => server.toolCalls().claimToolCall(request, { signal, timeoutMs: answerMs }),
      patience(server, signal),
    );
    return new HeldCall(claiming, claimToken);
  } catch (reason) {
    if (isLost(reason)) return undefined;
    throw reason;
  }
}

export class HeldCall {
  readonly toolCallId: string;
  readonly leaseMs: number;
  readonly #claiming: Claiming;
  readonly #claimToken: string;

  constructor(claiming: Claiming, claimToken: string) {
    this.toolCallId = claiming.toolCallId;
    this.leaseMs = claiming.leaseMs;
    this.#claiming = claiming;
    this.#claimToken = claimToken;
  }

  /** With nothing in it, it only renews the lease. */
  async report(
    report: Pick<MessageInitShape<typeof ReportToolCallRequestSchema>, "outputs" | "progress" | "reportSequence">,
  ): Promise<void> {
    const request = { ...report, ...this.#named() };
    await this.#insist((options) => this.#calls.reportToolCall(request, options));
  }

  /** A body of any size, piece by piece. */
  async write(body: Body): Promise<void> {
    const { contentId, role, mediaType, data } = body;
    let offset = 0;
    do {
      const piece = Uint8Array.from(data.subarray(offset, offset + limits.contentChunkBytes));
      const { toolCallId } = this;
      const chunk = { toolCallId, contentId, role, mediaType, offset: BigInt(offset), data: piece };
      const request = { claimToken: this.#claimToken, chunk };
      await this.#insist((options) => this.#calls.writeToolCallContent(request, options));
      offset += piece.length;
    } while (offset < data.length);
  }

  /** One whose answer was lost may have been taken: that it is over then is how it should be. */
  async complete(
    completion: Pick<MessageInitShape<typeof CompleteToolCallRequestSchema>, "complete" | "result">,
  ): Promise<void> {
    const request = { ...completion, claimToken: this.#claimToken };
    let attempts = 0;
    try {
      await this.#insist((options) => {
        attempts++;
        return this.#calls.completeToolCall(request, options);
      });
    } catch (reason) {
      if (attempts > 1 && reason instanceof CallLost) return;
      throw reason;
    }
  }

  get #calls() {
    return this.#claiming.server.toolCalls();
  }

  #named() {
    return { toolCallId: this.toolCallId, claimToken: this.#claimToken };
  }

  /** Throws CallLost when the call is not ours any more. */
  async #insist(request: (options: { signal: AbortSignal; timeoutMs: number }) => Promise<unknown>): Promise<void> {
    const { server, signal } = this.#claiming;
    try {
      await insist(() => request({ signal, timeoutMs: answerMs }), patience(server, signal));
    } catch (reason) {
      const error = ConnectError.from(reason);
      throw isLost(reason) ? new CallLost(error.rawMessage, error) : reason;
    }
  }
}

export interface Body {
  readonly contentId: string;
  readonly role: ContentRole;
  readonly mediaType: string;
  readonly data: Uint8Array;
}

const isLost = (reason: unknown): boolean =>
  reason instanceof ConnectError && lostReasons.includes(reasonOf(reason) ?? "none of them");
