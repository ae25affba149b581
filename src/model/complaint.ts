// What a provider complains about, read from the many shapes that servers give it:
//   {"error":{"message","type","code"}}          OpenAI, OpenRouter, vLLM, llama.cpp, Ollama
//   {"type":"error","error":{"type","message"}}  Anthropic
//   {"error":"…"}  {"message":"…"}  {"detail":"…"}  older and smaller servers, gateways
import type { ModelErrorKind } from "./model.js";
import { fieldsOf, parsedObject } from "./wire-values.js";

export interface Complaint {
  /** In the provider's words. Empty: it gave none. */
  readonly message: string;
  readonly type: string;
  /** A word, or an HTTP status. */
  readonly code: string;
}

/** `body`: text, or JSON that is parsed already. A page of HTML says nothing that fits a line. */
export function complaintIn(body: unknown): Complaint {
  const parsed = typeof body === "string" ? (parsedObject(body) ?? body) : body;
  if (typeof parsed === "string")
    return { message: parsed.trimStart().startsWith("<") ? "" : parsed, type: "", code: "" };
  const outer = fieldsOf(parsed);
  const error = outer["error"];
  if (typeof error === "string") return { message: error, type: word(outer["type"]), code: word(outer["code"]) };
  const inner = error === undefined ? outer : fieldsOf(error);
  return {
    message: [inner["message"], inner["detail"], outer["message"]].find(isText) ?? JSON.stringify(parsed) ?? "",
    type: word(inner["type"]),
    code: word(inner["code"]),
  };
}

/** Statuses 408 and 409 are timeouts too: of the request, and of a lock at the provider. */
export function kindOfStatus(status: number, complaint: Complaint): ModelErrorKind {
  if (status === 401 || status === 403) return "unauthorized";
  // An account without money is told apart from one that is too fast: waiting helps only the latter.
  if (status === 429) return complaint.code === "insufficient_quota" ? "rejected" : "rate_limited";
  return status === 408 || status === 409 || status >= 500 ? "unavailable" : "rejected";
}

/** For a complaint inside a stream, which has no status of its own. What is not known may pass. */
export function kindOfWords(complaint: Complaint): ModelErrorKind {
  const status = Number(complaint.code);
  if (status >= 400 && status < 600) return kindOfStatus(status, complaint);
  return kindByWord.get(complaint.code) ?? kindByWord.get(complaint.type) ?? "unavailable";
}

const kindByWord = new Map<string, ModelErrorKind>([
  ["invalid_api_key", "unauthorized"],
  ["authentication_error", "unauthorized"],
  ["permission_error", "unauthorized"],
  ["rate_limit_exceeded", "rate_limited"],
  ["rate_limit_error", "rate_limited"],
  ["insufficient_quota", "rejected"],
  ["context_length_exceeded", "rejected"],
  ["model_not_found", "rejected"],
  ["invalid_request_error", "rejected"],
  ["not_found_error", "rejected"],
  ["billing_error", "rejected"],
  ["request_too_large", "rejected"],
  ["BadRequestError", "rejected"],
]);

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

const word = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? String(value) : "");
