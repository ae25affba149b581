// Asks the model until there is a whole reply. Trouble before the first token is waited out; an attempt that breaks after it is
// dropped with everything it made, and made again once.
import { setTimeout as sleep } from "node:timers/promises";
import { ModelError, type ModelEvent, type ModelRequest, mayPass } from "../model/model.js";
import { droppedAttempt, type Reply, ReplyRecorder } from "./record-reply.js";
import type { Run, Scope } from "./run.js";
import { endingOf, Stopped } from "./stop.js";

/** How often a reply is tried again, by what was seen of it. */
const retries = { beforeFirstToken: 4, afterFirstToken: 1 } as const;
const longestBackoffMs = 60_000;

export async function askModel(run: Run, request: ModelRequest): Promise<Reply> {
  const left = { ...retries } as Record<keyof typeof retries, number>;
  for (let attempt = 1; ; attempt++) {
    const scope = run.openQuestion();
    // Nothing of the reply could be stored behind it, and a model may take long.
    const forget = run.onLost((error) => scope.fail(error));
    const recording = new ReplyRecorder(run, attempt);
    try {
      await stream(run, request, { recording, scope });
      return recording.finish();
    } catch (error) {
      const stop = scope.stopped;
      run.addUsage(recording.usage);
      if (stop) {
        await recording.drop(endingOf(stop));
        throw new Stopped(stop);
      }
      const seen = recording.isEmpty ? "beforeFirstToken" : "afterFirstToken";
      await recording.drop(droppedAttempt(error));
      if (!(error instanceof ModelError) || !mayPass(error.kind) || left[seen]-- <= 0) throw error;
      await backoff(run, scope, { attempt, error });
    } finally {
      forget();
      scope.close();
    }
  }
}

async function stream(
  run: Run,
  request: ModelRequest,
  { recording, scope }: { recording: ReplyRecorder; scope: Scope },
): Promise<void> {
  const events = run.model.stream(request, scope.signal)[Symbol.asyncIterator]();
  let isHeard = true;
  try {
    await new Promise<void>((resolve, reject) => {
      if (scope.reason) return reject(scope.reason);
      // A model that does not hear its signal is left behind.
      scope.onStop(() => {
        isHeard = false;
        reject(scope.reason);
      });
      const take = (event: ModelEvent): boolean => {
        if (isHeard) recording.take(event);
        return isHeard;
      };
      hear(events, take).then(resolve, reject);
    });
  } catch (reason) {
    isHeard = false;
    // Not awaited: such a model must not hold the run here either.
    void Promise.resolve(events.return?.()).catch(() => {});
    throw reason;
  }
}

/** All that it says, as long as it is taken. */
async function hear(events: AsyncIterator<ModelEvent>, take: (event: ModelEvent) => boolean): Promise<void> {
  for (;;) {
    const { done, value } = await events.next();
    if (done || !take(value)) return;
  }
}

/**
 * Longer each time, by chance a little more or less, and not before the provider wants to be asked. Throws the error where that is behind
 * the end of the run's time: it says why there is no answer, and a limit that is reached while waiting does not.
 */
async function backoff(
  run: Run,
  scope: Scope,
  { attempt, error }: { attempt: number; error: ModelError },
): Promise<void> {
  const doubled = run.limits.firstBackoffMs * 2 ** (attempt - 1) * (0.75 + Math.random() / 2);
  const ms = Math.max(Math.min(longestBackoffMs, doubled), error.retryAfterMs ?? 0);
  if (performance.now() + ms >= run.endsMs) throw error;
  try {
    await sleep(ms, undefined, { signal: scope.signal });
  } catch {
    throw scope.reason;
  }
}
