import type { PlanLine, ToolContext } from "../../src/tool/tool.js";

/** A context that keeps what the tool reports. Methods use `this`, as those of a class may. */
export class KeptContext implements ToolContext {
  readonly toolCallId: string = "00000000-0000-4000-8000-000000000001";
  readonly threadId: string = "00000000-0000-4000-8000-000000000002";
  readonly signal: AbortSignal;
  readonly workspace: string | undefined;
  readonly outputs: string[] = [];
  readonly reports: (readonly [completed: number, total: number | undefined])[] = [];
  readonly plans: (readonly PlanLine[])[] = [];
  /** Called with every piece that is printed. */
  onOutput: () => void = () => {};

  constructor(options: { workspace?: string; signal?: AbortSignal } = {}) {
    this.workspace = options.workspace;
    this.signal = options.signal ?? new AbortController().signal;
  }

  progress(completed: number, total?: number): void {
    this.reports.push([completed, total]);
  }

  phase(): void {}

  plan(lines: readonly PlanLine[]): void {
    this.plans.push(lines);
  }

  output(_stream: "stdout" | "stderr", text: string): void {
    this.outputs.push(text);
    this.onOutput();
  }
}
