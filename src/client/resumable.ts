// Which ends of a stream are worth another try. The rule: what the network or a proxy did may be tried again; what the
// server decided about the request may not.
import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";

const errorDomain = "heddle";

/** `by cause`: these codes are also what client libraries make of a connection that broke; see `isBroken`. */
const verdicts: Readonly<Record<Code, "resume" | "final" | "by cause">> = {
  // The caller's own cancellation is recognised by its signal before anybody asks here: this one is a proxy's or a server's.
  [Code.Canceled]: "resume",
  [Code.Unknown]: "by cause",
  [Code.InvalidArgument]: "final",
  // Heddle sets no deadline of its own on a stream.
  [Code.DeadlineExceeded]: "resume",
  [Code.NotFound]: "final",
  [Code.AlreadyExists]: "final",
  [Code.PermissionDenied]: "final",
  // Too many streams at this moment, or a message that is too large for ever.
  [Code.ResourceExhausted]: "by cause",
  [Code.FailedPrecondition]: "final",
  // Node clients say so when the connection is reset. A stream that only reads aborts nothing else.
  [Code.Aborted]: "resume",
  [Code.OutOfRange]: "final",
  [Code.Unimplemented]: "final",
  // Proxies that end an idle stream are seen as RST_STREAM with code 0, 1 or 2: INTERNAL to a gRPC client.
  [Code.Internal]: "by cause",
  [Code.Unavailable]: "resume",
  [Code.DataLoss]: "final",
  [Code.Unauthenticated]: "final",
};

/** What libraries, runtimes and browsers call a connection that broke or a stream that was cut short. */
const broken = new RegExp(
  [
    "reset|RST_STREAM|stream closed|closed with error code|GOAWAY|session|ping timed out",
    "socket|ECONN|EPIPE|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|hang up|aborted|terminated|premature",
    "missing (?:EndStreamResponse|trailer|status)|protocol error: (?:missing|received) .*(?:data|trailer|status|end)|incomplete envelope",
    "network|fetch failed|failed to fetch|load failed|input stream",
  ].join("|"),
  "i",
);

/** May the stream be opened again after the last entry that arrived? */
export function isResumable(error: ConnectError): boolean {
  const verdict = verdicts[error.code];
  if (verdict !== "by cause") return verdict === "resume";
  const reason = reasonOf(error);
  return reason === undefined ? isBroken(error) : reason === "LIMIT_EXCEEDED" && error.code === Code.ResourceExhausted;
}

/** Heddle's own word for the error, such as THREAD_DELETED. Undefined when somebody else made the error. */
export function reasonOf(error: ConnectError): string | undefined {
  return error.findDetails(ErrorInfoSchema).find((info) => info.domain === errorDomain)?.reason;
}

/** An error in the server's own words, for what a stream says in a frame rather than in a status. */
export function heddleError(code: Code, reason: string, message: string): ConnectError {
  return new ConnectError(message, code, undefined, [
    { desc: ErrorInfoSchema, value: { domain: errorDomain, reason, metadata: {} } },
  ]);
}

const longestCauseChain = 8;

function isBroken(error: ConnectError): boolean {
  let at: unknown = error;
  for (let depth = 0; at instanceof Error && depth < longestCauseChain; depth++) {
    const code = "code" in at && typeof at.code === "string" ? at.code : "";
    if (broken.test(`${at.message} ${code}`)) return true;
    at = at.cause;
  }
  return false;
}
