// Tools that do all that tools do: print, report nonsense, throw anything, return anything, hang with and without hearing
// their signal, and go on talking when they are over.
import { once } from "node:events";
import fc from "fast-check";
import { z } from "zod";
import { defineTool, type Phase, type ToolContext, type ToolDefinition, ToolFailure } from "../../src/tool/tool.js";
import { type Pause, pause, take, text } from "./random-text.js";

/** One name is the beginning of another's. */
export const toolNames = ["say", "run", "run_more", "stop"] as const;

/** The fields whose decoded text is streamed. */
export const textFields = { say: ["text"] } as const;

type Step =
  | { readonly kind: "output"; readonly stream: "stdout" | "stderr"; readonly text: string }
  | { readonly kind: "progress"; readonly completed: number; readonly total: number; readonly message: string }
  | { readonly kind: "phase"; readonly phase: string }
  | { readonly kind: "pause"; readonly pause: Pause };

const endings = [
  "returns",
  "returns",
  "returns",
  "says it failed",
  "stops the run",
  "returns nothing",
  "returns null",
  "returns no summary",
  "returns odd parts",
  "returns a large result",
  "returns a cycle",
  "returns a misfit",
  "throws",
  "throws a failure",
  "throws text",
  "throws nothing",
  "throws what has no words",
  "throws at once",
  "hangs until called off",
  "hangs, and returns when called off",
  "hangs, and ends slowly when called off",
  "hangs for good",
] as const;

export interface ToolPlan {
  readonly describes: "text" | "nothing" | "throws" | "a number";
  readonly summary: string;
  readonly steps: readonly Step[];
  readonly ending: (typeof endings)[number];
  readonly talksOn: boolean;
  readonly onlyLooks: boolean;
  readonly timeoutMs: number;
}

const number = fc.constantFrom(0, 1, 0.5, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e300);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("output" as const), stream: fc.constantFrom("stdout", "stderr"), text: text() }),
  fc.record({ kind: fc.constant("progress" as const), completed: number, total: number, message: text() }),
  fc.record({ kind: fc.constant("phase" as const), phase: fc.constantFrom("searching", "waiting", "dreaming") }),
  fc.record({ kind: fc.constant("pause" as const), pause }),
);

export const toolPlan: fc.Arbitrary<ToolPlan> = fc.record({
  describes: fc.constantFrom("text", "text", "nothing", "throws", "a number"),
  summary: text(300),
  steps: fc.array(step, { maxLength: 8 }),
  ending: fc.constantFrom(...endings),
  talksOn: fc.boolean(),
  onlyLooks: fc.boolean(),
  timeoutMs: fc.integer({ min: 1, max: 25 }),
});

/** The tools of a plan each. `running` counts the work that is under way and can be called off. */
export function randomTools(plans: readonly ToolPlan[], running: { count: number }): ToolDefinition[] {
  return toolNames.map((name, index) => randomTool(name, plans[index]!, running));
}

function randomTool(name: string, plan: ToolPlan, running: { count: number }): ToolDefinition {
  return defineTool({
    name,
    title: `The ${name}`,
    description: "Does anything.",
    kind: "other",
    input: name === "say" ? z.object({ text: z.string() }) : z.looseObject({}),
    output: plan.ending === "returns a misfit" ? z.object({ count: z.number() }) : z.unknown(),
    textFields: name === "say" ? [{ field: "text", purpose: "speech" }] : [],
    timeoutMs: plan.timeoutMs,
    onlyLooks: plan.onlyLooks,
    describe: () => described(plan),
    run: (_, context) => {
      if (plan.ending === "throws at once") throw new Error("at once");
      return work(plan, context, running);
    },
  } as ToolDefinition);
}

function described({ describes, summary }: ToolPlan): string {
  if (describes === "throws") throw new Error("no words");
  return (describes === "text" ? summary : describes === "a number" ? 7 : undefined) as string;
}

async function work(plan: ToolPlan, context: ToolContext, running: { count: number }): Promise<never> {
  const isDeaf = plan.ending === "hangs for good";
  if (!isDeaf) running.count++;
  try {
    for (const step of plan.steps) await act(step, context);
    return (await endOf(plan, context)) as never;
  } finally {
    if (!isDeaf) running.count--;
    if (plan.talksOn) {
      talk(context);
      setImmediate(() => talk(context));
    }
  }
}

function talk(context: ToolContext): void {
  context.output("stdout", "and another thing");
  context.progress(1, 1, "and another thing");
  context.phase("waiting");
}

async function act(step: Step, context: ToolContext): Promise<void> {
  if (step.kind === "output") context.output(step.stream, step.text);
  if (step.kind === "progress") context.progress(step.completed, step.total, step.message);
  if (step.kind === "phase") context.phase(step.phase as Phase);
  if (step.kind === "pause") await take(step.pause);
}

async function endOf({ ending, summary }: ToolPlan, { signal }: ToolContext): Promise<unknown> {
  const calledOff = async (): Promise<void> => {
    if (!signal.aborted) await once(signal, "abort");
  };
  const returned = { result: { text: summary }, summary };
  switch (ending) {
    case "returns":
    case "throws at once":
      return returned;
    case "says it failed":
      return { ...returned, isError: true };
    case "stops the run":
      return { ...returned, stopIteration: true };
    case "returns nothing":
      return undefined;
    case "returns null":
      return null;
    case "returns no summary":
      return { result: 1 };
    case "returns odd parts":
      return {
        ...returned,
        content: [
          { id: "../../etc", mediaType: "text/plain\n", data: "a part" },
          { id: "part", mediaType: "image/png", data: 7 },
          null,
        ],
        locations: [{ path: summary, line: -1 }, { path: 7 }, null],
        exitCode: 1.5,
      };
    case "returns a large result":
      return { ...returned, result: "漢".repeat(500_000) };
    case "returns a cycle": {
      const cycle: { self?: unknown } = {};
      cycle.self = cycle;
      return { result: cycle, summary };
    }
    case "returns a misfit":
      return { result: { count: "many" }, summary };
    case "throws":
      throw new Error(summary);
    case "throws a failure":
      throw new ToolFailure(summary, { code: "E".repeat(100) });
    case "throws text":
      throw summary;
    case "throws nothing":
      throw undefined;
    case "throws what has no words":
      throw Object.create(null);
    case "hangs until called off":
      await calledOff();
      throw signal.reason;
    case "hangs, and returns when called off":
      await calledOff();
      return returned;
    case "hangs, and ends slowly when called off":
      await calledOff();
      await take("timer");
      throw new Error("interrupted");
    case "hangs for good":
      return new Promise<never>(() => {});
  }
}
