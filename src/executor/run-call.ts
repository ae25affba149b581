// One call, from the claim to its end. It runs here as it would on the server: the same checks, the same report, the same ends.
import { createHash } from "node:crypto";
import { attemptTool } from "../loop/attempt-tool.js";
import { CallReport } from "../loop/call-report.js";
import { endOfThrown } from "../loop/end-of-tool.js";
import { boundedForModel } from "../loop/model-text.js";
import { previewOf } from "../loop/preview.js";
import { bodiesOf, type CallEnd, completeOf } from "../loop/record-end.js";
import type { Scope } from "../loop/scope.js";
import { endingOf } from "../loop/stop.js";
import { limits } from "../thread/limits.js";
import { ContentRole, ToolCallOutcome } from "../thread/schema.js";
import { cleanSummary } from "../thread/summary.js";
import { stateFromWire } from "../thread/tool-call.js";
import { checkInput } from "../tool/check-input.js";
import type { Preview, ToolDefinition } from "../tool/tool.js";
import type { ExecutorEvent, ShownCall } from "./executor-events.js";
import type { ExecutorServer } from "./executor-server.js";
import { CallLost, claimCall, type HeldCall } from "./held-call.js";
import { readCall } from "./read-input.js";
import { ReportLine } from "./report-line.js";

export interface RunSettings {
  readonly workspace: string;
  readonly toolTimeoutMs: number;
  readonly quietMs: number;
  readonly stopGraceMs: number;
}

export interface CallParts {
  readonly server: ExecutorServer;
  readonly executorName: string;
  readonly leaseMs: number;
  readonly settings: RunSettings;
  readonly on: (event: ExecutorEvent) => void;
}

export interface CallToRun {
  readonly call: ShownCall;
  readonly tool: ToolDefinition;
  readonly scope: Scope;
  /** What was shown to whoever said yes here. Undefined: nobody was asked here. */
  readonly approved: string | undefined;
  /** Gives up on the server. */
  readonly signal: AbortSignal;
  /** Told of the line to the server when it is opened and when it is closed. */
  readonly onLine: (line: ReportLine, isOpen: boolean) => void;
}

/** Contract: called once for a call. Throws what is nobody's fault here. */
export async function runCall(parts: CallParts, given: CallToRun): Promise<void> {
  const { call, scope, signal, onLine } = given;
  if (scope.stopped) return;
  const held = await claimCall({ ...parts, toolCallId: call.toolCallId, signal });
  if (!held) return;
  parts.on({ kind: "started", call });
  const startedMs = performance.now();
  const line = new ReportLine(held, () => scope.stop({ kind: "cancelled", reason: "" }));
  onLine(line, true);
  try {
    const end = await run(parts, given, line);
    await line.flush();
    await finish(held, end);
    told(end);
  } catch (reason) {
    if (!(reason instanceof CallLost)) throw reason;
    told({ outcome: ToolCallOutcome.CANCELLED, summary: "Called off" });
  } finally {
    onLine(line, false);
    line.close();
  }

  function told({ outcome, summary }: Pick<CallEnd, "outcome" | "summary">): void {
    const durationMs = performance.now() - startedMs;
    parts.on({ kind: "ended", call, outcome, summary: cleanSummary(summary), durationMs });
  }
}

async function run({ server, settings }: CallParts, given: CallToRun, line: ReportLine): Promise<CallEnd> {
  const { call, tool, scope, signal, approved } = given;
  const { call: known, input: text } = await readCall(server, call.toolCallId, signal);
  // The claim may have been lost meanwhile: this process slept, or its network did.
  if (known && stateFromWire(known.state) === "over") throw new CallLost("the call is over");
  const checked = checkInput(tool, text);
  if (!checked.ok) return refused(checked.kind, checked.message);
  if (approved !== undefined && !(await isAsApproved(given, { input: checked.input, settings }))) return changed;
  if (scope.stopped) return endingOf(scope.stopped);
  const report = new CallReport(line, {
    toolCallId: call.toolCallId,
    threadId: call.threadId,
    workspace: settings.workspace,
    scope,
    quietMs: settings.quietMs,
  });
  return attemptTool(tool, { input: checked.input, report, scope, ...settings });
}

/** A schema here may be stricter than the one that the server knows. */
const refused = (kind: string, message: string): CallEnd => ({
  outcome: ToolCallOutcome.FAILED,
  summary: message,
  error: { kind, message },
  modelText: `The call was not run. ${message}.`,
});

const changed: CallEnd = {
  ...refused("approval_changed", "What it would do has changed since it was approved"),
  modelText:
    "The call was not run. What it would do has changed since it was approved. Call it again to ask once more.",
};

/** A yes is for what was shown: it is looked at once more, right before it is done. */
async function isAsApproved(
  { tool, scope, approved }: CallToRun,
  { input, settings: { workspace } }: { input: unknown; settings: RunSettings },
): Promise<boolean> {
  try {
    return digestOf(await previewOf(tool, input, { signal: scope.signal, workspace })) === approved;
  } catch {
    return false;
  }
}

/** What a yes is for. */
export const digestOf = (preview: Preview | undefined): string =>
  createHash("sha256")
    .update(preview?.data ?? "")
    .digest("hex");

/** The bodies first: they become visible with the end. */
async function finish(held: HeldCall, end: CallEnd): Promise<void> {
  const shown = cleanSummary(end.summary) === "" ? { ...end, summary: "It has ended" } : end;
  const bodies = bodiesOf(held.toolCallId, shown);
  const inline = bodies.find(
    ({ role, data }) => role === ContentRole.RESULT && data.length <= limits.contentChunkBytes,
  );
  for (const body of bodies) if (body !== inline) await held.write(body);
  const modelText = boundedForModel(shown.modelText ?? shown.summary);
  // What would be the same as the result is read from it.
  const isResult = inline && shown.outcome === ToolCallOutcome.SUCCEEDED && modelText === shown.resultJson;
  if (!isResult)
    await held.write({
      contentId: "model",
      role: ContentRole.MODEL_TEXT,
      mediaType: "text/plain",
      data: Buffer.from(modelText),
    });
  await held.complete({
    complete: completeOf(held.toolCallId, shown),
    ...(inline && { result: Uint8Array.from(inline.data) }),
  });
}

/** What would happen, for whoever is asked. Rejects with words when it could not succeed. */
export async function lookAhead(
  tool: ToolDefinition,
  text: string,
  context: { signal: AbortSignal; workspace: string },
): Promise<Preview | undefined> {
  const checked = checkInput(tool, text);
  if (!checked.ok) throw new Error(checked.message);
  try {
    return await previewOf(tool, checked.input, context);
  } catch (error) {
    context.signal.throwIfAborted();
    throw new Error(endOfThrown(error).summary);
  }
}
