// Watches a run to its end: through the outages of its server, and through an interruption that calls it off.
import { ConnectError } from "@connectrpc/connect";
import type { RunCompleted, StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import { reasonOf } from "../client/index.js";
import { recordedLater } from "./cut-off.js";
import { exitCodes } from "./exit.js";
import { Failure } from "./failure.js";
import type { Interrupted } from "./interrupt.js";
import { commandLine } from "./next-command.js";
import { longestOutageMs, type OutageWatch, watchOutages } from "./outage.js";
import { asksUser } from "./question-options.js";
import { type Answering, Approver } from "./run-prompt-approvals.js";
import type { Run, RunClient } from "./run-prompt-client.js";
import type { RunServer } from "./run-prompt-server.js";
import { SubAgents } from "./run-prompt-sub-agents.js";
import type { RunView } from "./run-view.js";
import { safeLine } from "./terminal.js";

export interface Watched {
  readonly client: RunClient;
  readonly run: Run;
  readonly view: RunView;
  readonly server: RunServer;
  readonly answering: Answering;
  /** Aborted when the run is to be called off. */
  readonly signal: AbortSignal;
}

/** How long a run that was called off by SIGTERM may take to end: whoever sent it waits for the process. */
const longestFarewellMs = 15_000;
/** A server that comes back is noticed soon. */
const backoff = { maxDelayMs: 3_000 };

/** Shows the run's events up to the last, and returns that one. Throws Failure when there is nothing left to wait for. */
export async function watchRun(watched: Watched): Promise<RunCompleted> {
  const leaving = new AbortController();
  const outages = watchOutages(watched.view, (reason) => leaving.abort(gaveUp(watched, reason)));
  const forget = callOffWhenAsked(watched, leaving);
  const approver = new Approver({ ...watched, where: watched.server.where });
  const subAgents = new SubAgents({ ...watched, onEvent: (event) => approver.see(event) });
  try {
    const end = await follow(watched, { signal: leaving.signal, onState: outages.onState, approver, subAgents });
    await subAgents.settled();
    return end;
  } finally {
    subAgents.close();
    await approver.close();
    forget();
    outages.stop();
  }
}

interface Following {
  readonly signal: AbortSignal;
  readonly onState: OutageWatch["onState"];
  readonly approver: Approver;
  readonly subAgents: SubAgents;
}

async function follow(
  { client, run, view, server }: Watched,
  { signal, onState, approver, subAgents }: Following,
): Promise<RunCompleted> {
  const { threadId, runId, afterSequence } = run;
  let hasAsked = false;
  for await (const event of client.events({ threadId, afterSequence, follow: true, signal, backoff, onState })) {
    if (event.runId !== runId) continue; // The end of a run before it.
    await view.event(event);
    approver.see(event);
    subAgents.see(event);
    hasAsked ||= isQuestion(event);
    if (event.payload.case !== "runCompleted") continue;
    if (hasAsked && event.payload.value.finishReason === "tool_stop")
      view.note(`Answer with: ${commandLine(`run --thread ${threadId} "…"`, server.where)}`);
    return event.payload.value;
  }
  throw new Error("the thread ended before its run did");
}

const isQuestion = ({ payload }: StreamThreadEventsResponse): boolean =>
  payload.case === "toolCallComplete" && asksUser(payload.value.toolName) && payload.value.success;

/** Returns what stops it. */
function callOffWhenAsked(watched: Watched, leaving: AbortController): () => void {
  const { signal, view } = watched;
  let timer: NodeJS.Timeout | undefined;
  view.farewell(leftAtOnce(watched));
  const callOff = () => {
    const interruption = signal.reason as Interrupted;
    const leave = (why: string) => leaving.abort(left(watched, interruption, why));
    view.note("calling the run off; Ctrl-C again leaves at once");
    if (interruption.signalName === "SIGTERM")
      timer = setTimeout(() => leave("the run has not ended in time"), longestFarewellMs);
    void cancel(watched, { interruption, leave });
  };
  if (signal.aborted) callOff();
  else signal.addEventListener("abort", callOff);
  return () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", callOff);
  };
}

async function cancel(
  { client, run, view }: Watched,
  { interruption, leave }: { interruption: Interrupted; leave: (why: string) => void },
): Promise<void> {
  try {
    await client.cancel(run);
  } catch (reason) {
    const error = ConnectError.from(reason);
    if (reasonOf(error) === "RUN_NOT_FOUND") return; // It is over: its end is on its way.
    const why = `the run could not be called off: ${error.rawMessage}`;
    const isAnswer = ![undefined, "SHUTTING_DOWN"].includes(reasonOf(error));
    if (!isAnswer || interruption.signalName === "SIGTERM") return leave(why);
    view.note(`${why}. Ctrl-C again leaves it running`);
  }
}

function left(watched: Watched, { exitCode }: Interrupted, why: string): Failure {
  return new Failure({ code: exitCode, message: `${safeLine(why)}. ${seeLater(watched)}` }, undefined);
}

function gaveUp(watched: Watched, reason: ConnectError): Failure {
  const limit = `${longestOutageMs / 60_000} minutes`;
  const said = safeLine(reason.rawMessage);
  const message = `the server at ${watched.server.place.url()} has been away for ${limit} (${said}). ${seeLater(watched)}`;
  return new Failure({ code: exitCodes.unreachable, message }, reason);
}

const seeLater = ({ run, server }: Watched): string =>
  `The run may go on without this command: follow it later with ${commandLine(`follow ${run.threadId}`, server.where)}`;

const leftAtOnce = ({ run, server }: Watched): string =>
  server.isOwn
    ? `left at once: the run was cut off, and its record stays open: ${recordedLater(server.where)}. Thread ${run.threadId}`
    : `left at once: the server goes on calling the run off; see how it ends with ${commandLine(`follow ${run.threadId}`, server.where)}`;
