// What a command's end means: the exit code, and the line a person reads about it.
import { Code, ConnectError } from "@connectrpc/connect";
import { reasonOf } from "../client/index.js";
import { FlagProblem } from "../config.js";
import { type ErrorCode, HeddleError } from "../thread/errors.js";
import { Interrupted } from "./interrupt.js";
import { commandLine } from "./next-command.js";
import { ClosedWithoutAnswer } from "./no-answer.js";
import { safeLine } from "./terminal.js";

export const exitCodes = {
  ok: 0,
  error: 1,
  usage: 2,
  notFound: 3,
  unreachable: 4,
  notAllowed: 5,
} as const;

export const exitCodeHelp = `
Exit codes:
  0    all went well
  1    an error that is none of the others
  2    the command line is wrong
  3    the thread, call or body is not there, or was deleted
  4    the server cannot be reached
  5    a token is needed, or the one given is not allowed to do this
  130  interrupted (Ctrl-C)
  143  terminated (SIGTERM); a server that closes in good order ends with 0`;

/** Stands below every message about a wrong command line. */
export const helpHint = "(add --help to see what is possible)";

export interface Ending {
  readonly code: number;
  /** Empty: end quietly. The first line says what is wrong; further lines are indented. */
  readonly message: string;
}

export const usageEnding = (message: string): Ending => ({
  code: exitCodes.usage,
  message: `${message}\n${helpHint}`,
});

/** `server` is the address the command talked to; undefined when it talked to none. */
export function endingOf(reason: unknown, server: string | undefined): Ending {
  if (reason instanceof Interrupted) return { code: reason.exitCode, message: "" };
  if (isBrokenPipe(reason)) return { code: exitCodes.ok, message: "" };
  if (reason instanceof HeddleError) return endingOfHeddleError(reason);
  if (reason instanceof ConnectError) return endingOfConnectError(reason, server);
  return { code: exitCodes.error, message: safeLine(reason instanceof Error ? reason.message : String(reason)) };
}

/** Whoever read our output has left, as `head` does: there is nothing to say and nobody to say it to. */
const isBrokenPipe = (reason: unknown): boolean => (reason as NodeJS.ErrnoException | undefined)?.code === "EPIPE";

const codeOfHeddleError: Partial<Record<ErrorCode, number>> = {
  thread_not_found: exitCodes.notFound,
  thread_deleted: exitCodes.notFound,
  tool_call_not_found: exitCodes.notFound,
  content_not_found: exitCodes.notFound,
};

function endingOfHeddleError(error: HeddleError): Ending {
  const problems: readonly Error[] =
    error.code === "invalid_config" && error.cause instanceof AggregateError ? error.cause.errors : [];
  const message = problemsText(error, problems);
  if (problems.some((problem) => problem instanceof FlagProblem)) return usageEnding(message);
  return { code: codeOfHeddleError[error.code as ErrorCode] ?? exitCodes.error, message };
}

/** Several problems of a configuration read better one below the other. */
function problemsText(error: HeddleError, problems: readonly Error[]): string {
  if (problems.length < 2) return safeLine(error.message);
  const lines = problems.map((problem) => `  - ${safeLine(problem.message)}`);
  return `the configuration has ${problems.length} problems:\n${lines.join("\n")}`;
}

function endingOfConnectError(error: ConnectError, server: string | undefined): Ending {
  const said = safeLine(error.rawMessage);
  if (error.cause instanceof ClosedWithoutAnswer && server !== undefined) return noAnswer(server);
  if (isAboutTls(error) && server?.startsWith("https:")) return notTls(server);
  switch (error.code) {
    case Code.NotFound:
      return {
        code: exitCodes.notFound,
        message: reasonOf(error) === "THREAD_DELETED" ? "the thread was deleted" : said,
      };
    case Code.Unauthenticated:
      return { code: exitCodes.notAllowed, message: `${said} (set HEDDLE_TOKEN, or give --token)` };
    case Code.PermissionDenied:
      return { code: exitCodes.notAllowed, message: said };
    case Code.Unavailable:
      // A server that answers, but cannot do it, has been reached.
      return isAway(error) ? unreachable(error, server) : { code: exitCodes.error, message: said };
    case Code.DeadlineExceeded:
    case Code.Aborted:
    case Code.Canceled:
      return unreachable(error, server);
    case Code.Internal:
    case Code.Unknown:
    case Code.Unimplemented:
      // Without a word of Heddle's own it is not Heddle that answers there, or nobody does.
      return reasonOf(error) === undefined ? notHeddle(error, server) : { code: exitCodes.error, message: said };
    default:
      return { code: exitCodes.error, message: said };
  }
}

const isAway = (error: ConnectError): boolean => [undefined, "SHUTTING_DOWN"].includes(reasonOf(error));

function unreachable(error: ConnectError, server: string | undefined): Ending {
  const said = safeLine(error.rawMessage || codeOf(error.cause));
  const hint =
    codeOf(error.cause) === "ECONNREFUSED"
      ? `. Start one with "${commandLine("serve", {})}", or give --server URL`
      : "";
  const message = server === undefined ? said : `cannot reach the server at ${server}: ${said}${hint}`;
  return { code: exitCodes.unreachable, message };
}

function noAnswer(server: string): Ending {
  const closed = `something listens at ${server}, but closes the connection before it answers`;
  const message = server.startsWith("http:")
    ? `${closed}: it does not speak plain HTTP/2. If it speaks TLS, try --server ${server.replace("http:", "https:")}`
    : closed;
  return { code: exitCodes.unreachable, message };
}

/** TLS was spoken to somebody who does not. */
const isAboutTls = ({ cause }: ConnectError): boolean =>
  /^(?:ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)|EPROTO)$/.test(codeOf(cause));

function notTls(server: string): Ending {
  const plain = server.replace("https:", "http:");
  const message = `something listens at ${server}, but it speaks no TLS: try --server ${plain}`;
  return { code: exitCodes.unreachable, message };
}

function notHeddle(error: ConnectError, server: string | undefined): Ending {
  const said = safeLine(error.rawMessage);
  if (server === undefined) return { code: exitCodes.error, message: said };
  const message = isAboutCertificate(error)
    ? `the certificate of ${server} is not trusted: ${said}. Set NODE_EXTRA_CA_CERTS to the file of the authority that signed it`
    : `${server} does not answer as a Heddle server: ${said}`;
  return { code: exitCodes.unreachable, message };
}

const isAboutCertificate = ({ cause }: ConnectError): boolean => /CERT|SIGNATURE/.test(codeOf(cause));

/** Node's word for what happened, such as ECONNREFUSED. */
const codeOf = (cause: unknown): string => (cause instanceof Error && "code" in cause ? String(cause.code) : "");
