// A tool that only looks begins before its start is stored: it has no effect that the log must know of first (T4). Most looks are over
// in a moment, and then their start and their end are stored together, which saves a flush of the disk. One that takes longer, or
// has something to say, is told as started at once.
import { now } from "../thread/time.js";
import { attempt, startOf } from "./attempt-call.js";
import type { ReportSink } from "./call-report.js";
import type { CallEnd } from "./record-end.js";
import { recordReport } from "./record-report.js";
import type { Run, Scope } from "./run.js";
import { endingOf } from "./stop.js";
import type { CallInput } from "./streamed-call.js";

/** What nobody notices. */
const momentMs = 2;

export async function lookFirst(run: Run, call: CallInput, scope: Scope): Promise<CallEnd> {
  const time = now();
  let isTold = false;
  const tell = (): void => {
    if (isTold) return;
    isTold = true;
    run.goOnWhile(run.recorder.record(startOf(call), { time, isAhead: true }));
  };
  if (scope.stopped) {
    tell();
    return endingOf(scope.stopped);
  }
  const timer = setTimeout(tell, momentMs);
  const end = await attempt(run, call, scope, behind(tell, recordReport(run.recorder, call.id)));
  clearTimeout(timer);
  tell();
  return end;
}

/** Nothing is said of a call that has not started. */
const behind = (tell: () => void, { progress, output, plan }: ReportSink): ReportSink => ({
  progress: (said) => {
    tell();
    progress(said);
  },
  output: (stream, text) => {
    tell();
    output(stream, text);
  },
  plan: (entries) => {
    tell();
    plan(entries);
  },
});
