// What went wrong with a provider, as a ModelError (M4): who answered what, and what to do next. The errors of the SDKs stay
// behind: they hold headers and bodies, so the cause is a plain error with the cleaned text.
import { type Complaint, complaintIn, kindOfStatus, kindOfWords } from "./complaint.js";
import { ModelError, type ModelErrorKind } from "./model.js";
import type { Provider } from "./provider.js";
import { retryAfterMs } from "./retry-after.js";

/** An answer that is not a reply. */
export interface Refusal {
  readonly status: number;
  readonly headers: Headers;
  /** The body, or its beginning. */
  readonly text: string;
}

/** The provider answered with a status that is not a success. */
export function refused(provider: Provider, { status, headers, text }: Refusal): ModelError {
  if (status >= 300 && status < 400) return redirected(provider, { status, headers, text });
  const complaint = complaintIn(text);
  const kind = kindOfStatus(status, complaint);
  const waitMs = retryAfterMs(headers);
  return said(provider, { kind, answer: `answered ${status}`, complaint, status, waitMs });
}

/** A key must not go where the address does not lead. */
function redirected(provider: Provider, { status, headers }: Refusal): ModelError {
  const target = provider.clean(headers.get("location") ?? "");
  const message = `${provider.who} answered ${status}: it redirects${target && ` to ${target}`}. Set ${provider.baseUrlVariable} to the address that answers itself`;
  return new ModelError("rejected", message);
}

/** The provider says within a reply, or in its place, that it has failed. */
export function failedInside(provider: Provider, body: unknown): ModelError {
  const complaint = complaintIn(body);
  return said(provider, { kind: kindOfWords(complaint), answer: "reports an error", complaint });
}

/** It answered, but not with a stream of events. */
export function notAStream(provider: Provider, mediaType: string): ModelError {
  const what = provider.clean(mediaType) || "something else";
  const message = `${provider.who} answered with ${what} instead of a stream of events. Check ${provider.baseUrlVariable}`;
  return new ModelError("invalid_reply", message);
}

/** The stream ended before the reply did. */
export function brokeOff(provider: Provider, reason = "the stream ended early"): ModelError {
  return withReason("broken", { before: `the reply of ${provider.who} broke off`, reason, next: "Try again" });
}

export function unsendableKey(provider: Provider): ModelError {
  const message = `the key for ${provider.who} holds characters that cannot be sent. Check ${provider.keyVariable}`;
  return new ModelError("unauthorized", message);
}

/** How far a question had come: not answered, answered with nothing yet, or in the middle of the reply. */
export type Stage = "asking" | "answered" | "replying";

/** The errors of an SDK that tell something. Both SDKs name them alike. */
export interface SdkErrors {
  readonly APIError: ErrorClass<{ readonly error: unknown }>;
  readonly APIConnectionError: ErrorClass<Error>;
}

type ErrorClass<Instance> = abstract new (...parameters: never[]) => Instance;

/** Whatever the SDK or the connection under it threw. */
export function thrown(
  provider: Provider,
  { error, sdk, stage }: { error: unknown; sdk: SdkErrors; stage: Stage },
): ModelError {
  if (error instanceof ModelError) return error;
  if (error instanceof sdk.APIError && error.error !== undefined) return failedInside(provider, error.error);
  const reason = provider.clean(reasonOf(error));
  if (error instanceof SyntaxError) {
    const before = `${provider.who} sent an event that is not JSON`;
    return withReason("invalid_reply", { before, reason, next: `Check ${provider.baseUrlVariable}` });
  }
  if (stage === "replying") return brokeOff(provider, reason);
  if (stage === "answered" || error instanceof sdk.APIConnectionError) {
    const next = `Check the network and ${provider.baseUrlVariable}, or try again later`;
    return withReason("unavailable", { before: `${provider.who} does not answer`, reason, next });
  }
  const next = `Check the request and ${provider.baseUrlVariable}`;
  return withReason("rejected", { before: `${provider.who} cannot be asked`, reason, next });
}

/** The innermost cause: `fetch failed` alone helps nobody. */
function reasonOf(error: unknown): string {
  let innermost = error;
  for (let depth = 0; depth < causeDepth && innermost instanceof Error && innermost.cause !== undefined; depth++) {
    innermost = innermost.cause;
  }
  if (!(innermost instanceof Error)) return String(innermost);
  const { code } = innermost as { code?: unknown };
  return innermost.message || (typeof code === "string" ? code : innermost.name);
}

const causeDepth = 8;

interface Words {
  readonly before: string;
  readonly reason: string;
  readonly next: string;
}

function withReason(kind: ModelErrorKind, { before, reason, next }: Words): ModelError {
  return new ModelError(kind, `${before}: ${reason}. ${next}`, { cause: new Error(reason) });
}

interface Saying {
  readonly kind: ModelErrorKind;
  readonly answer: string;
  readonly complaint: Complaint;
  readonly status?: number | undefined;
  readonly waitMs?: number | undefined;
}

function said(provider: Provider, { kind, answer, complaint, status, waitMs }: Saying): ModelError {
  const words = provider.clean(complaint.message).replace(/[.\s]+$/, "");
  const message = `${provider.who} ${answer}${words && `: ${words}`}. ${advice(provider, { kind, status, waitMs })}`;
  return new ModelError(kind, message, { retryAfterMs: waitMs, cause: words === "" ? undefined : new Error(words) });
}

function advice(provider: Provider, { kind, status, waitMs }: Pick<Saying, "kind" | "status" | "waitMs">): string {
  if (kind === "unauthorized" && provider.keyHeader === undefined) return `Set ${provider.keyVariable}`;
  if (kind === "unauthorized") return `Check ${provider.keyVariable}`;
  if (status === 404) return `Check the model's name and ${provider.baseUrlVariable}`;
  if (kind === "rejected")
    return "Change the request, the model or the account: the same request will be refused again";
  return waitMs === undefined ? "Try again later" : `Try again in ${Math.ceil(waitMs / 1000)} s`;
}
