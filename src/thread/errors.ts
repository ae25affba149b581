// The one error class. A code says what went wrong; a detail carries the facts a program needs to go on.
// The edge of each protocol translates codes once (projection/connect/wire-error.ts); nothing else does.

/** What each code's detail holds. `undefined`: the code says it all. */
export interface ErrorDetails {
  /** A field of a request is wrong. */
  invalid_field: { field: string; rule: string };
  /** An event of a batch is malformed, too large or lacks something. */
  invalid_event: EventViolationDetail;
  /** An event of a batch is well formed but not allowed where things stand (T2). */
  transition_violation: EventViolationDetail;
  thread_not_found: undefined;
  thread_deleted: undefined;
  /** A new thread was asked for with an id that a deleted thread had. */
  thread_id_retired: undefined;
  /** Somebody else writes the thread. */
  thread_busy: { kind: "run" | "recording"; holderId: string; producer: string };
  sequence_out_of_range: { headSequence: bigint; firstSequence: bigint };
  tool_call_not_found: undefined;
  /** The call is complete: there is nothing to call off. */
  tool_call_over: undefined;
  /** The call belongs to a recording: its producer runs it. */
  tool_call_not_ours: { producer: string };
  /** The call does not wait to be claimed: it is not for a client, or has not come so far. */
  tool_call_not_offered: undefined;
  /** Another executor has claimed the call. */
  tool_call_claimed: { executorName: string };
  /** The token is not the claim's. */
  claim_mismatch: undefined;
  /** A run cannot go on: a call of it still waits. */
  tool_call_unanswered: { toolCallId: string };
  response_not_found: undefined;
  /** The thread's log holds no such list of tools. */
  discovery_not_found: undefined;
  /** This server takes no MCP servers from its callers. */
  mcp_not_allowed: undefined;
  /** The call does not wait for a yes, or not any more. */
  approval_not_pending: undefined;
  /** The answer names another hash than the question: what the answerer saw is not what would run. */
  approval_mismatch: undefined;
  /** The thread has no such open run of Heddle's own. */
  run_not_found: undefined;
  /** The request id was used for another message. */
  request_id_reused: { runId: string };
  model_not_offered: { model: string };
  /** A document is of a kind that cannot be read, or its bytes are not what they are said to be. */
  unsupported_document: undefined;
  content_not_found: undefined;
  content_out_of_range: undefined;
  recording_fenced: { epoch: bigint; producerSequence: bigint };
  producer_sequence_gap: { epoch: bigint; producerSequence: bigint };
  /** L3: the head is not where the writer believed. */
  conflict: { headSequence: bigint };
  /** L4: stored bytes fail their checksum. They are never served. */
  data_loss: { firstSequence: bigint; lastSequence: bigint };
  /** The disk is full, or a quota is reached. */
  storage_full: { path: string };
  /** The store cannot be read or written for another reason. */
  storage_failed: { path: string };
  /** Another live process owns the data directory. */
  directory_in_use: { path: string; owner: string };
  directory_unwritable: { path: string };
  /** The data directory was written by a version that this one cannot read. */
  directory_version: { path: string; found: number; supported: number };
  invalid_config: { field: string };
  unauthenticated: undefined;
  permission_denied: undefined;
  /** A limit of the server is reached (streams, connections, sizes). */
  limit_exceeded: { limit: string };
  unimplemented: undefined;
  /** The server is going away; try again elsewhere or later. */
  shutting_down: undefined;
  deadline_exceeded: undefined;
  cancelled: undefined;
  internal: undefined;
}

export interface EventViolationDetail {
  eventIndex: number;
  event: string;
  subjectId: string;
  state: string;
  rule: string;
}

export type ErrorCode = keyof ErrorDetails;

type ErrorOptions<Code extends ErrorCode> = { cause?: unknown } & (undefined extends ErrorDetails[Code]
  ? { detail?: undefined }
  : { detail: ErrorDetails[Code] });

/** Contract: `message` is one line that says what is wrong and, where it helps, what to do next. No secrets. */
export class HeddleError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  readonly detail: ErrorDetails[Code];

  constructor(
    code: Code,
    message: string,
    ...[options]: undefined extends ErrorDetails[Code] ? [ErrorOptions<Code>?] : [ErrorOptions<Code>]
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = "HeddleError";
    this.code = code;
    this.detail = options?.detail as ErrorDetails[Code];
  }
}

/** Narrowing: is this the given kind of error? */
export function isError<Code extends ErrorCode>(error: unknown, code: Code): error is HeddleError<Code> {
  return error instanceof HeddleError && error.code === code;
}

/** A request whose field breaks a rule: `text must not be empty`. */
export const invalidField = (field: string, rule: string): HeddleError<"invalid_field"> =>
  new HeddleError("invalid_field", `${field} ${rule}`, { detail: { field, rule } });
