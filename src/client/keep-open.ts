// A stream that is opened again whenever it ends: of the list of threads, or of an offer. Each one begins anew with its first frame, so
// that there is no position to keep; followThread is for those that have one.
import { type CallOptions, Code, ConnectError } from "@connectrpc/connect";
import { type Attempts, type Backoff, countAttempts, defaultBackoff } from "./backoff.js";
import { isResumable } from "./resumable.js";
import { nextWithin, pause } from "./wait.js";

/** What the frames of such streams have in common. */
interface ControlledFrame {
  readonly payload: { readonly case: string | undefined };
}

export interface KeepOptions {
  /** Ends everything; the iteration throws its reason. */
  readonly signal: AbortSignal;
  /** A stream on which nothing comes for so long, not even a heartbeat, is opened anew. Three heartbeats, unless told. */
  readonly idleTimeoutMs?: number;
  /** The first frame comes at once: a server that has not sent it by then does not answer. */
  readonly readyTimeoutMs?: number;
  readonly backoff?: Partial<Backoff>;
  readonly onState?: (state: KeepState) => void;
}

export type KeepState =
  | { readonly state: "open" }
  | { readonly state: "waiting"; readonly delayMs: number; readonly reason: ConnectError };

const defaultIdleTimeoutMs = 45_000;
const defaultReadyTimeoutMs = 10_000;

/**
 * The frames of one stream after the other, control frames too. Never ends by itself. Throws what the server says about the request,
 * the last error when it stays away, and the signal's reason when the caller leaves.
 */
export async function* keepOpen<Frame extends ControlledFrame>(
  open: (options: CallOptions) => AsyncIterable<Frame>,
  options: KeepOptions,
): AsyncGenerator<Frame> {
  const attempts = countAttempts({ ...defaultBackoff, ...options.backoff });
  for (;;) {
    const reason = yield* readStream(open, options, attempts);
    const delayMs = attempts.nextDelayMs();
    if (delayMs === undefined) throw reason;
    options.onState?.({ state: "waiting", delayMs, reason });
    await pause(delayMs, options.signal);
  }
}

/** One stream. Returns why it was cut. */
async function* readStream<Frame extends ControlledFrame>(
  open: (options: CallOptions) => AsyncIterable<Frame>,
  options: KeepOptions,
  attempts: Attempts,
): AsyncGenerator<Frame, ConnectError> {
  const { signal, idleTimeoutMs = defaultIdleTimeoutMs } = options;
  signal.throwIfAborted();
  const attempt = new AbortController();
  const leave = () => attempt.abort(signal.reason);
  signal.addEventListener("abort", leave);
  try {
    const frames = open({ signal: attempt.signal })[Symbol.asyncIterator]();
    for (let limitMs = options.readyTimeoutMs ?? defaultReadyTimeoutMs; ; limitMs = idleTimeoutMs) {
      const next = await nextWithin(frames, limitMs, signal);
      if (next.done === true) return new ConnectError("the stream ended without a word", Code.Unavailable);
      const name = next.value.payload.case;
      if (name === "ready") {
        attempts.answered();
        options.onState?.({ state: "open" });
      } else attempts.progressed();
      yield next.value;
      if (name === "closing") return new ConnectError("the server closed the stream", Code.Unavailable);
    }
  } catch (reason) {
    signal.throwIfAborted();
    const error = ConnectError.from(reason);
    if (isResumable(error)) return error;
    throw error;
  } finally {
    signal.removeEventListener("abort", leave);
    attempt.abort(); // Lets go of a stream that the caller left early, or that went silent.
  }
}
