// A server's tool as one of Heddle's own kind: described and checked like any other, and run by the server.
import { z } from "zod";
import { firstWords } from "../first-words.js";
import { checkAgainst } from "../issue-words.js";
import { schemaType } from "../json-schema.js";
import type { JsonSchema, Policy, ToolContext, ToolDefinition, ToolOutcome } from "../tool.js";
import { kindAndPolicy, titleOf } from "./annotations.js";
import { type CallResult, modelText, readResult } from "./call-result.js";
import type { ListedTool } from "./listed-tool.js";

export interface MakeTool {
  readonly serverLabel: string;
  /** As the model knows it. */
  readonly name: string;
  readonly listed: ListedTool;
  /** The longest that a call may take. */
  readonly timeoutMs: number;
  /** The operator's word for all tools of the server. */
  readonly policy: Policy | undefined;
  /** Has the server run it. */
  call(
    toolName: string,
    input: Readonly<Record<string, unknown>>,
    context: ToolContext,
  ): Promise<Readonly<Record<string, unknown>>>;
}

export function makeTool({ serverLabel, name, listed, timeoutMs, policy, call }: MakeTool): ToolDefinition {
  const title = titleOf(listed);
  const annotated = kindAndPolicy(listed);
  const { inputSchema, outputSchema } = listed;
  const structured = outputSchema && schemaType(outputSchema);
  return {
    name,
    title,
    description: listed.description || title,
    kind: annotated.kind,
    policy: policy ?? annotated.policy,
    input: schemaType(inputSchema),
    output: z.unknown(),
    schemas: { input: inputSchema, output: resultSchema(outputSchema) },
    origin: { kind: "mcp", serverLabel, toolName: listed.name },
    timeoutMs,
    describe: (input) => `${title}${firstWords(input)}`,
    run: async (input, context) => {
      const answer = await call(listed.name, (input ?? {}) as Record<string, unknown>, context);
      return outcomeOf(answer, structured);
    },
    toModel: (result) => modelText(result as CallResult),
  };
}

/** The server has run it by now: a result that does not fit is kept, and told. */
function outcomeOf(answer: Readonly<Record<string, unknown>>, type: z.ZodType | undefined): ToolOutcome<CallResult> {
  const { result, parts, summary, isError } = readResult(answer);
  const outcome = { result, summary, content: parts };
  if (isError) return { ...outcome, summary: summary === "Gave nothing" ? "Failed without a word" : summary, isError };
  const problem = type && misfit(result.structuredContent, type);
  if (problem === undefined) return outcome;
  return {
    ...outcome,
    summary: `Failed: the result does not fit the tool's own description: ${problem}`,
    isError: true,
    errorKind: "output_schema_violation",
  };
}

function misfit(structured: unknown, type: z.ZodType): string | undefined {
  if (structured === undefined) return "the structured content is missing";
  const checked = checkAgainst(type, structured, "the structured content");
  return checked.ok ? undefined : checked.message;
}

/** What is kept of a call (call-result.ts), with what the server says of it. */
const resultSchema = (outputSchema: JsonSchema | undefined): JsonSchema => ({
  type: "object",
  properties: {
    content: { type: "array", items: { type: "object" } },
    ...(outputSchema && { structuredContent: outputSchema }),
    isError: { type: "boolean" },
  },
});
