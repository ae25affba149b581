// Runs one program to its end, in bounded time and with bounded output. How it is started, watched and ended is begin-process.ts's.
import { beginGuarded } from "./begin-guarded.js";
import { type BeginRequest, beginProcess, type EndCause, type Ending } from "./begin-process.js";
import type { Guard } from "./guard.js";
import { KeptOutput, type OutputLimits, outputLimits } from "./kept-output.js";
import type { ProcessLimits } from "./watch-processes.js";

export type { EndCause };

export interface ProcessRequest extends Omit<BeginRequest, "onPiece"> {
  readonly timeoutMs: number;
  readonly limits?: ProcessLimits & OutputLimits;
  /** Undefined: it needs none. */
  readonly guard?: Guard | undefined;
  onOutput(stream: "stdout" | "stderr", text: string): void;
}

export interface ProcessEnd extends Ending {
  readonly stdout: KeptOutput;
  readonly stderr: KeptOutput;
}

/** Contract: rejects with the signal's reason when it is called off before it starts, and with a ToolFailure when it cannot start. */
export async function runProcess({ onOutput, guard, ...request }: ProcessRequest): Promise<ProcessEnd> {
  const limits = request.limits ?? outputLimits;
  const kept = {
    stdout: new KeptOutput((text) => onOutput("stdout", text), limits),
    stderr: new KeptOutput((text) => onOutput("stderr", text), limits),
  };
  const onPiece: BeginRequest["onPiece"] = (stream, piece) => {
    kept[stream].add(piece);
    return 0;
  };
  const wished: BeginRequest = { ...request, onPiece };
  const begun = await (guard ? beginGuarded(guard, wished) : beginProcess(wished));
  const ending = await begun.ended;
  kept.stdout.close();
  kept.stderr.close();
  return { ...ending, ...kept };
}
