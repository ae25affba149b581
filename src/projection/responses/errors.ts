// Errors in OpenAI's shape: what is wrong, with which parameter, and a code that programs know.
import { type ErrorCode, HeddleError, isError } from "../../thread/errors.js";
import { itemId } from "./response-id.js";

export class ApiError extends Error {
  readonly status: number;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;

  constructor(status: number, message: string, { param = null, code = null, type = "" }: ApiErrorOptions = {}) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.type = type || (status >= 500 ? "server_error" : "invalid_request_error");
    this.param = param;
    this.code = code;
  }

  get body(): { error: { message: string; type: string; param: string | null; code: string | null } } {
    const { message, type, param, code } = this;
    return { error: { message, type, param, code } };
  }
}

interface ApiErrorOptions {
  readonly param?: string | null;
  readonly code?: string | null;
  readonly type?: string;
}

/** The caller's fault, with the field that is wrong. Empty: the request as a whole is. */
export const wrong = (param: string, message: string, code: string | null = null): ApiError =>
  new ApiError(400, message, { param: param || null, code });

export const notFound = (id: string): ApiError =>
  new ApiError(404, `Response with id '${id.slice(0, 100)}' not found.`, { code: "response_not_found" });

const statuses: Readonly<Partial<Record<ErrorCode, number>>> = {
  unauthenticated: 401,
  permission_denied: 403,
  thread_not_found: 404,
  thread_deleted: 404,
  response_not_found: 404,
  thread_busy: 409,
  limit_exceeded: 429,
  storage_full: 507,
  shutting_down: 503,
  deadline_exceeded: 408,
};

/** Answers that nobody waits for. */
const ofInput: ReadonlySet<ErrorCode> = new Set([
  "tool_call_over",
  "tool_call_not_found",
  "tool_call_not_offered",
  "approval_not_pending",
]);

const unanswered = (toolCallId: string): ApiError =>
  wrong(
    "input",
    `No tool output found for function call ${itemId("call", toolCallId)}, and no approval response for ${itemId("mcpr", toolCallId)}.`,
    "tool_call_unanswered",
  );

/** Anything thrown. What nobody foresaw says nothing of its cause. */
export function asApiError(reason: unknown): ApiError {
  if (reason instanceof ApiError) return reason;
  if (!(reason instanceof HeddleError)) return new ApiError(500, "The server failed; its log says more");
  const { code, message }: HeddleError = reason;
  if (isError(reason, "model_not_offered"))
    return new ApiError(400, message, { param: "model", code: "model_not_found" });
  if (isError(reason, "invalid_field")) {
    const { field } = reason.detail;
    return wrong(paramOf(field), message.replace(field, field.replace(/^options\./, "")));
  }
  if (isError(reason, "unauthenticated"))
    return new ApiError(401, message, { code: "invalid_api_key", type: "authentication_error" });
  if (isError(reason, "tool_call_unanswered")) return unanswered(reason.detail.toolCallId);
  if (isError(reason, "run_not_found"))
    return wrong("previous_response_id", "The previous response is still in progress.", code);
  if (ofInput.has(code as ErrorCode)) return wrong("input", message, code);
  if (isError(reason, "mcp_not_allowed")) return wrong("tools", message, code);
  const status = statuses[code as ErrorCode] ?? 500;
  return new ApiError(status, status === 500 ? "The server failed; its log says more" : message, { code });
}

/** The verbs' own names of fields, in the words of this API. */
const paramOf = (field: string): string =>
  /^(?:options\.(?:allowed|approved|guarded|client)_tools|mcp_servers)/.test(field)
    ? "tools"
    : field.startsWith("options.tool_choice")
      ? "tool_choice"
      : field.replace(/^options\./, "").replace(/^text_format/, "text.format");
