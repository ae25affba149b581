// Documents with some fields changed, written out (thread/every-field.ts): most appends make one.
import type { EveryField } from "../thread/every-field.js";
import type { RunDocument, ThreadDocument } from "../thread/schema.js";

export function changedThread(document: ThreadDocument, changes: Partial<ThreadDocument>): ThreadDocument {
  const next: EveryField<ThreadDocument> = {
    $typeName: document.$typeName,
    title: document.title,
    labels: document.labels,
    createTime: document.createTime,
    deleteTime: document.deleteTime,
    runStartedSequence: document.runStartedSequence,
    lease: document.lease,
    epoch: document.epoch,
    lastLease: document.lastLease,
    runId: document.runId,
    run: document.run,
    requests: document.requests,
    parent: document.parent,
    processes: document.processes,
    processCount: document.processCount,
    clientTools: document.clientTools,
    mcpServers: document.mcpServers,
    discoveries: document.discoveries,
    responses: document.responses,
    $unknown: document.$unknown,
  };
  return Object.assign(next, changes);
}

export function changedRun(run: RunDocument, changes: Partial<RunDocument>): RunDocument {
  const next: EveryField<RunDocument> = {
    $typeName: run.$typeName,
    options: run.options,
    usage: run.usage,
    steps: run.steps,
    startTime: run.startTime,
    stoppedByTool: run.stoppedByTool,
    answered: run.answered,
    suspended: run.suspended,
    suspendTime: run.suspendTime,
    parentToolCallId: run.parentToolCallId,
    depth: run.depth,
    tasks: run.tasks,
    taskTokens: run.taskTokens,
    toolCalls: run.toolCalls,
    attended: run.attended,
    askedSteps: run.askedSteps,
    askedToolCalls: run.askedToolCalls,
    $unknown: run.$unknown,
  };
  return Object.assign(next, changes);
}
