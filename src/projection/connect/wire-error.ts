// Our errors in the words of gRPC and Connect: a status code, google.rpc.ErrorInfo with a stable reason, and one typed
// detail where the code has facts. The only place that knows both vocabularies.
import type { Message } from "@bufbuild/protobuf";
import type { GenMessage } from "@bufbuild/protobuf/codegenv2";
import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import {
  DamagedRangeSchema,
  EventViolationSchema,
  FieldViolationSchema,
  RecordingPositionSchema,
  SequenceRangeSchema,
  ThreadHolder_Kind,
  ThreadHolderSchema,
} from "../../../gen/heddle/v1/error_pb.js";
import { type ErrorCode, HeddleError, isError } from "../../thread/errors.js";

const codes: Readonly<Record<ErrorCode, Code>> = {
  invalid_field: Code.InvalidArgument,
  invalid_event: Code.InvalidArgument,
  transition_violation: Code.FailedPrecondition,
  thread_not_found: Code.NotFound,
  thread_deleted: Code.NotFound,
  thread_id_retired: Code.AlreadyExists,
  thread_busy: Code.FailedPrecondition,
  sequence_out_of_range: Code.OutOfRange,
  tool_call_not_found: Code.NotFound,
  tool_call_over: Code.FailedPrecondition,
  tool_call_not_offered: Code.FailedPrecondition,
  tool_call_claimed: Code.FailedPrecondition,
  claim_mismatch: Code.PermissionDenied,
  tool_call_unanswered: Code.FailedPrecondition,
  response_not_found: Code.NotFound,
  discovery_not_found: Code.NotFound,
  mcp_not_allowed: Code.FailedPrecondition,
  approval_not_pending: Code.FailedPrecondition,
  approval_mismatch: Code.FailedPrecondition,
  tool_call_not_ours: Code.FailedPrecondition,
  run_not_found: Code.NotFound,
  request_id_reused: Code.InvalidArgument,
  model_not_offered: Code.InvalidArgument,
  unsupported_document: Code.InvalidArgument,
  content_not_found: Code.NotFound,
  content_out_of_range: Code.OutOfRange,
  recording_fenced: Code.FailedPrecondition,
  producer_sequence_gap: Code.FailedPrecondition,
  conflict: Code.Aborted,
  data_loss: Code.DataLoss,
  storage_full: Code.ResourceExhausted,
  storage_failed: Code.Unavailable,
  directory_in_use: Code.FailedPrecondition,
  directory_unwritable: Code.FailedPrecondition,
  directory_version: Code.FailedPrecondition,
  invalid_config: Code.Internal,
  unauthenticated: Code.Unauthenticated,
  permission_denied: Code.PermissionDenied,
  limit_exceeded: Code.ResourceExhausted,
  unimplemented: Code.Unimplemented,
  shutting_down: Code.Unavailable,
  deadline_exceeded: Code.DeadlineExceeded,
  cancelled: Code.Canceled,
  internal: Code.Internal,
};

interface Detail {
  readonly desc: GenMessage<Message>;
  readonly value: Record<string, unknown>;
}

/** Anything thrown, as it goes over the wire. What nobody foresaw is INTERNAL and says nothing of its cause. */
export function toWire(reason: unknown): ConnectError {
  if (reason instanceof ConnectError && reason.details.length > 0) return reason;
  const error = asHeddleError(reason);
  const info = { reason: error.code.toUpperCase(), domain: "heddle" };
  const typed = typedDetail(error);
  const details = [{ desc: ErrorInfoSchema, value: info }, ...(typed ? [typed as never] : [])];
  const message = shortened(publicWords[error.code] ?? error.message);
  return new ConnectError(message, codes[error.code], undefined, details, error.cause);
}

/** A message travels in headers, and may quote what a client sent. */
const maxMessageUnits = 1000;

/** Half of a surrogate pair cannot be written into a header. */
const shortened = (text: string): string => text.slice(0, maxMessageUnits).replace(/\p{Surrogate}/gu, "\uFFFD");

/** Where the message names the server's own paths: those are for its log. */
const publicWords: Readonly<Partial<Record<ErrorCode, string>>> = {
  storage_full: "The server has no space left to store this. Nothing was stored; try again later",
  storage_failed: "The server cannot read or write its storage; its log says more. Try again later",
};

const serverFaults: ReadonlySet<ErrorCode> = new Set(["internal", "storage_full", "storage_failed", "data_loss"]);

/** Something that whoever runs the server must hear of. (What Connect's own code calls internal is what a client sent.) */
export const isServerFault = (reason: unknown): boolean =>
  reason instanceof HeddleError ? serverFaults.has(reason.code) : !(reason instanceof ConnectError);

/** What Connect's own code found wrong before ours was asked; undefined for anything else. */
function ofLibrary(reason: unknown): HeddleError | undefined {
  if (!(reason instanceof ConnectError)) return undefined;
  const { code, rawMessage: message } = reason;
  switch (code) {
    case Code.InvalidArgument:
      return new HeddleError("invalid_field", message, {
        detail: { field: "", rule: shortened(message) },
        cause: reason,
      });
    case Code.ResourceExhausted:
      return new HeddleError("limit_exceeded", message, { detail: { limit: "messageBytes" }, cause: reason });
    case Code.DeadlineExceeded:
      return new HeddleError("deadline_exceeded", "The caller's deadline has passed", { cause: reason });
    case Code.Canceled:
      return new HeddleError("cancelled", message, { cause: reason });
    case Code.Unimplemented:
      return new HeddleError("unimplemented", message, { cause: reason });
    default:
      return new HeddleError("internal", message, { cause: reason });
  }
}

/** Anything thrown, in our own words. */
export const asHeddleError = (reason: unknown): HeddleError =>
  reason instanceof HeddleError ? reason : (ofLibrary(reason) ?? unforeseen(reason));

const unforeseen = (cause: unknown): HeddleError =>
  new HeddleError("internal", "The server failed; its log says more", { cause });

function typedDetail(error: HeddleError): Detail | undefined {
  if (isError(error, "invalid_field")) return { desc: FieldViolationSchema, value: { ...error.detail } };
  if (isError(error, "invalid_event") || isError(error, "transition_violation")) {
    return { desc: EventViolationSchema, value: { ...error.detail } };
  }
  if (isError(error, "sequence_out_of_range")) return { desc: SequenceRangeSchema, value: { ...error.detail } };
  if (isError(error, "recording_fenced") || isError(error, "producer_sequence_gap")) {
    return { desc: RecordingPositionSchema, value: { ...error.detail } };
  }
  if (isError(error, "data_loss")) return { desc: DamagedRangeSchema, value: { ...error.detail } };
  if (isError(error, "thread_busy")) {
    const { kind, holderId, producer } = error.detail;
    const holder = kind === "run" ? ThreadHolder_Kind.RUN : ThreadHolder_Kind.RECORDING;
    return { desc: ThreadHolderSchema, value: { kind: holder, holderId, producer } };
  }
  return undefined;
}
