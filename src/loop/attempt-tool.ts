// One tool, run to its end: within its time, heard while it works, and left behind when it does not hear that it was called off. Whoever
// runs tools does it like this, the server and executors alike.
import { behindTurn } from "../recorder/behind-turn.js";
import type { ToolDefinition } from "../tool/tool.js";
import type { CallReport } from "./call-report.js";
import { endOfReturned, endOfThrown } from "./end-of-tool.js";
import type { CallEnd } from "./record-end.js";
import type { Scope } from "./scope.js";
import { endingOf } from "./stop.js";

interface Attempt {
  /** Checked against the tool's schema. */
  readonly input: unknown;
  /** Closed when the tool is done. */
  readonly report: CallReport;
  readonly scope: Scope;
  /** For tools that name no limit of their own. */
  readonly toolTimeoutMs: number;
  /** What it gets to end by itself once it is called off. */
  readonly stopGraceMs: number;
}

/** Contract: that the call has started is stored, unless its tool only looks. Never throws. */
export async function attemptTool(tool: ToolDefinition, attempt: Attempt): Promise<CallEnd> {
  const { report, scope } = attempt;
  if (tool.phase) report.context.phase(tool.phase);
  const limitMs = tool.timeoutMs ?? attempt.toolTimeoutMs;
  let timer: NodeJS.Timeout | undefined;
  // Many tools are over in the turn in which they begin: the clocks start behind it.
  const callOff = behindTurn(() => {
    timer = setTimeout(() => scope.stop({ kind: "tool_timeout", limitMs }), limitMs);
    report.startClock();
  });
  try {
    return endOf(tool, await settle(tool, attempt), scope);
  } finally {
    callOff();
    clearTimeout(timer);
    report.close();
  }
}

type Settled =
  | { readonly kind: "returned"; readonly outcome: unknown; readonly wasStopped: boolean }
  | { readonly kind: "threw"; readonly error: unknown; readonly wasStopped: boolean }
  /** It did not hear its signal: nobody waits for it any longer. */
  | { readonly kind: "left_behind" };

function settle(tool: ToolDefinition, { input, report, scope, stopGraceMs }: Attempt): Promise<Settled> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const grace = (): void => {
      timer = setTimeout(() => resolve({ kind: "left_behind" }), stopGraceMs);
    };
    const forget = scope.stopped ? undefined : scope.onStop(grace);
    const settled = (result: Settled): void => {
      clearTimeout(timer);
      forget?.();
      resolve(result);
    };
    // In a function of its own: a tool that throws before its first await has failed, not the loop.
    const running = (async () => await tool.run(input, report.context))();
    running.then(
      (outcome) => settled({ kind: "returned", outcome, wasStopped: scope.stopped !== undefined }),
      (error) => settled({ kind: "threw", error, wasStopped: scope.stopped !== undefined }),
    );
  });
}

/** Called off beats whatever the tool says about it: a command that was killed returns, too. */
function endOf(tool: ToolDefinition, settled: Settled, scope: Scope): CallEnd {
  if (settled.kind === "left_behind") return endingOf(scope.stopped!);
  if (settled.wasStopped && settled.kind === "threw") return endingOf(scope.stopped!);
  if (settled.kind === "threw") return endOfThrown(settled.error);
  const returned = endOfReturned(tool, settled.outcome);
  if (!settled.wasStopped) return returned;
  const ending = endingOf(scope.stopped!);
  const modelText = `${ending.summary}. Until then the tool gave:\n${returned.modelText ?? ""}`;
  return { ...returned, ...ending, modelText, stopIteration: false };
}
