// Follows one thread across cuts, restarts and silences. The position is all the state there is: whatever ends a stream, the
// next one begins after the last entry that arrived, so that the caller sees every entry once and in order (S1).
import { type CallOptions, Code, ConnectError } from "@connectrpc/connect";
import { type Closing, Closing_Reason, type StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import { type Attempts, type Backoff, countAttempts, defaultBackoff } from "./backoff.js";
import { heddleError, isResumable, reasonOf } from "./resumable.js";
import { nextWithin, pause } from "./wait.js";

/** The one method that is needed; a Connect client of ThreadService has it. */
export interface EventSource {
  streamThreadEvents(
    request: { threadId: string; afterSequence: bigint; follow: boolean },
    options: CallOptions,
  ): AsyncIterable<StreamThreadEventsResponse>;
}

export interface FollowOptions {
  readonly threadId: string;
  /** The sequence of the last entry the caller has. 0 for all of them. */
  readonly afterSequence: bigint;
  /** Stay for what is recorded from now on. False: end at the head. */
  readonly follow: boolean;
  /** Ends everything; the iteration throws its reason. */
  readonly signal: AbortSignal;
  /** Pass control frames on as they arrive, those of every reconnection too. Otherwise the caller sees entries alone. */
  readonly control?: boolean;
  /** A stream on which nothing comes for so long, not even a heartbeat, is opened anew. Three heartbeats, unless told. */
  readonly idleTimeoutMs?: number;
  /** The first frame comes at once: a server that has not sent it by then does not answer. */
  readonly readyTimeoutMs?: number;
  readonly backoff?: Partial<Backoff>;
  readonly onState?: (state: FollowState) => void;
}

export type FollowState =
  | { readonly state: "connecting"; readonly afterSequence: bigint }
  | { readonly state: "open"; readonly headSequence: bigint }
  | { readonly state: "caught_up"; readonly headSequence: bigint }
  | { readonly state: "waiting"; readonly delayMs: number; readonly reason: ConnectError };

const defaultIdleTimeoutMs = 45_000;
const defaultReadyTimeoutMs = 10_000;

/**
 * Entries in order, each exactly once; ends at the head without `follow`, and never with it.
 * Throws ConnectError: what the server says about the request (NOT_FOUND, OUT_OF_RANGE, UNAUTHENTICATED, …), THREAD_DELETED
 * also when the thread is deleted meanwhile, DATA_LOSS when the server skips or repeats an entry, STORAGE_FAILED without
 * `follow`, the last error when the server stays away. Throws the signal's reason when the caller leaves.
 */
export async function* followThread(
  source: EventSource,
  options: FollowOptions,
): AsyncGenerator<StreamThreadEventsResponse> {
  const attempts = countAttempts({ ...defaultBackoff, ...options.backoff });
  const position = { afterSequence: options.afterSequence };
  for (;;) {
    options.onState?.({ state: "connecting", ...position });
    const cut = yield* readStream(source, { options, attempts, position });
    if (cut === undefined) return;
    const delayMs = attempts.nextDelayMs();
    if (delayMs === undefined) throw cut;
    options.onState?.({ state: "waiting", delayMs, reason: cut });
    await pause(delayMs, options.signal);
  }
}

interface Following {
  readonly options: FollowOptions;
  readonly attempts: Attempts;
  readonly position: { afterSequence: bigint };
}

/** One stream. Returns why it was cut, or undefined when there is nothing left to read. */
async function* readStream(
  source: EventSource,
  following: Following,
): AsyncGenerator<StreamThreadEventsResponse, ConnectError | undefined> {
  const { options, position } = following;
  const { threadId, follow, signal, idleTimeoutMs = defaultIdleTimeoutMs } = options;
  signal.throwIfAborted();
  const attempt = new AbortController();
  const leave = () => attempt.abort(signal.reason);
  signal.addEventListener("abort", leave);
  let isComplete = false;
  try {
    const stream = source.streamThreadEvents({ threadId, follow, ...position }, { signal: attempt.signal });
    const frames = stream[Symbol.asyncIterator]();
    for (let limitMs = options.readyTimeoutMs ?? defaultReadyTimeoutMs; ; limitMs = idleTimeoutMs) {
      const next = await nextWithin(frames, limitMs, signal);
      if (next.done === true) return isComplete ? undefined : endedEarly();
      take(next.value, following);
      if (next.value.sequence !== 0n || options.control === true) yield next.value;
      if (next.value.payload.case === "closing") return closed(next.value.payload.value);
      isComplete ||= next.value.payload.case === "caughtUp" && !follow;
    }
  } catch (reason) {
    signal.throwIfAborted();
    if (isComplete) return undefined; // Everything is here; only the end of the stream was lost.
    const error = ConnectError.from(reason);
    if (isResumable(error) && (follow || !isLasting(error))) return error;
    throw error;
  } finally {
    signal.removeEventListener("abort", leave);
    attempt.abort(); // Lets go of a stream that the caller left early, or that went silent.
  }
}

/**
 * Storage that cannot be read is most likely broken until somebody repairs it. Who follows waits for that; who reads to the
 * head wants to know.
 */
const isLasting = (error: ConnectError): boolean => reasonOf(error) === "STORAGE_FAILED";

/** Moves the position, and says what the frame means for the attempts and to whoever watches the state. */
function take(frame: StreamThreadEventsResponse, { options, attempts, position }: Following): void {
  if (frame.sequence !== 0n) {
    if (frame.sequence !== position.afterSequence + 1n) throw outOfOrder(frame.sequence, position.afterSequence);
    position.afterSequence = frame.sequence;
    attempts.progressed();
    return;
  }
  if (frame.payload.case === "ready") {
    attempts.answered();
    options.onState?.({ state: "open", headSequence: frame.payload.value.headSequence });
  }
  if (frame.payload.case === "caughtUp") {
    options.onState?.({ state: "caught_up", headSequence: frame.payload.value.headSequence });
  }
  if (frame.payload.case === "heartbeat") attempts.progressed();
}

function closed({ reason }: Closing): ConnectError {
  if (reason === Closing_Reason.THREAD_DELETED) {
    throw heddleError(Code.NotFound, "THREAD_DELETED", "the thread was deleted");
  }
  const why =
    reason === Closing_Reason.MAX_AGE ? "the stream has reached its maximum age" : "the server is shutting down";
  return new ConnectError(why, Code.Unavailable);
}

const endedEarly = () => new ConnectError("the stream ended without a word", Code.Unavailable);

const outOfOrder = (found: bigint, after: bigint) =>
  new ConnectError(`the server sent entry ${found} where ${after + 1n} is next`, Code.DataLoss);
