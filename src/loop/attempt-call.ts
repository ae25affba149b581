// A call's tool, run within the call: its start as the log tells it, and what it says on the way.
import type { LifecycleInit } from "../recorder/run-recorder.js";
import { Executor, type ToolCallStarted } from "../thread/schema.js";
import { attemptTool } from "./attempt-tool.js";
import { CallReport, type ReportSink } from "./call-report.js";
import type { CallEnd } from "./record-end.js";
import { recordReport } from "./record-report.js";
import type { Run, Scope } from "./run.js";
import type { CallInput } from "./streamed-call.js";

/** Contract of all here: the call has a tool. */
export function startOf({ id, summary, tool }: CallInput): LifecycleInit {
  const executor = tool!.origin?.kind === "mcp" ? Executor.MCP : Executor.SERVER;
  const value: ToolCallStarted = {
    $typeName: "heddle.v1.ToolCallStarted",
    toolCallId: id,
    toolName: "",
    summary,
    executor,
  };
  return { case: "toolCallStarted", value };
}

/** Never throws. */
export function attempt(
  run: Run,
  { id, tool, checked }: CallInput,
  scope: Scope,
  sink: ReportSink = recordReport(run.recorder, id),
): Promise<CallEnd> {
  const report = new CallReport(sink, {
    toolCallId: id,
    threadId: run.key.threadId,
    workspace: run.workspace,
    scope,
    quietMs: run.limits.quietMs,
  });
  const input = checked?.ok ? checked.input : undefined;
  const { toolTimeoutMs } = run.limits;
  return attemptTool(tool!, { input, report, scope, toolTimeoutMs, stopGraceMs: run.graceMsFor(tool!) });
}
