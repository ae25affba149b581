// What an executor asks of a server. Clients of Connect have these methods; each use asks for one that goes to where the server is now.
import type { Client } from "@connectrpc/connect";
import type { ThreadService } from "../../gen/heddle/v1/thread_service_pb.js";
import type { ToolCallService } from "../../gen/heddle/v1/tool_call_service_pb.js";
import type { ToolService } from "../../gen/heddle/v1/tool_service_pb.js";
import type { Backoff, InsistOptions } from "../client/index.js";

export interface ExecutorServer {
  threads(): Pick<Client<typeof ThreadService>, "watchThreads">;
  toolCalls(): Pick<
    Client<typeof ToolCallService>,
    | "getToolCall"
    | "readToolCallContent"
    | "listApprovals"
    | "resolveApproval"
    | "cancelToolCall"
    | "listOfferedToolCalls"
    | "claimToolCall"
    | "reportToolCall"
    | "writeToolCallContent"
    | "completeToolCall"
  >;
  tools(): Pick<Client<typeof ToolService>, "offerTools">;
  /** How it is waited for. Undefined: as is usual. */
  readonly backoff?: Partial<Backoff>;
}

/** A single answer must be there by then; otherwise it is asked for again. */
export const answerMs = 15_000;

/** A server that comes back is noticed soon, for a lease may be short; and it is waited for as long as it takes. */
const usualBackoff = {
  maxDelayMs: 2_000,
  maxAttempts: Number.POSITIVE_INFINITY,
  maxFirstAttempts: Number.POSITIVE_INFINITY,
};

/** Of requests that may be made twice. */
export const patience = ({ backoff }: ExecutorServer, signal: AbortSignal): InsistOptions => ({
  signal,
  backoff: { ...usualBackoff, ...backoff },
});
