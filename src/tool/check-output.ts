// A tool's result is what its schema says, or the call has failed: nobody downstream has to doubt it again.
import type { z } from "zod";
import { checkAgainst } from "./issue-words.js";
import type { ToolDefinition } from "./tool.js";

export type CheckedOutput<Result = unknown> =
  | { readonly ok: true; readonly result: Result }
  | { readonly ok: false; readonly kind: "invalid_output"; readonly message: string };

/** Contract: never throws. The message names the field, never its value. */
export function checkOutput<Output extends z.ZodType>(
  tool: Pick<ToolDefinition<z.ZodType, Output>, "output">,
  result: unknown,
): CheckedOutput<z.output<Output>> {
  const checked = checkAgainst(tool.output, result, "The result");
  return checked.ok
    ? { ok: true, result: checked.value }
    : { ok: false, kind: "invalid_output", message: checked.message };
}
