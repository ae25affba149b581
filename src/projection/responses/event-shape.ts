// Shapes of the events of a stream, one for each of wire-events.ts.
import { z } from "zod";
import type { EventFields, EventType } from "./wire-events.js";
import { annotation, index, item, part, response, summaryPart, text } from "./wire-shape.js";

type Shape<Fields> = { readonly [Field in keyof Fields]-?: z.ZodType<Fields[Field]> };

const heddle = z.strictObject({ summary: text }).describe("What the tool does or has done, in words for a person.");

const event = <Fields extends z.core.$ZodLooseShape>(type: string, fields: Fields) =>
  z.strictObject({ type: z.literal(type), sequence_number: index, ...fields });

const whole = { response };
const place = { item_id: text, output_index: index };
const inText = { ...place, content_index: index };
const inSummary = { ...place, summary_index: index };
/** Of a call: with the tool's name, and sometimes with words. */
const stage = { ...place, name: text, heddle: heddle.exactOptional() };

/** A type that wire-events.ts has and this table does not, or the other way round, does not compile, and neither does a field. */
const fields: { readonly [Type in EventType]: Shape<EventFields[Type]> } = {
  "response.created": whole,
  "response.queued": whole,
  "response.in_progress": whole,
  "response.completed": whole,
  "response.failed": whole,
  "response.incomplete": whole,
  "response.output_item.added": { output_index: index, item, heddle: heddle.exactOptional() },
  "response.output_item.done": { output_index: index, item, heddle: heddle.exactOptional() },
  "response.content_part.added": { ...inText, part },
  "response.content_part.done": { ...inText, part },
  "response.output_text.delta": { ...inText, delta: text, logprobs: z.tuple([]) },
  "response.output_text.annotation.added": { ...inText, annotation_index: index, annotation },
  "response.output_text.done": { ...inText, text, logprobs: z.tuple([]) },
  "response.refusal.delta": { ...inText, delta: text },
  "response.refusal.done": { ...inText, refusal: text },
  "response.reasoning_summary_part.added": { ...inSummary, part: summaryPart },
  "response.reasoning_summary_part.done": { ...inSummary, part: summaryPart },
  "response.reasoning_summary_text.delta": { ...inSummary, delta: text },
  "response.reasoning_summary_text.done": { ...inSummary, text },
  "response.function_call_arguments.delta": { ...stage, delta: text },
  "response.function_call_arguments.done": { ...stage, arguments: text },
  "response.mcp_call_arguments.delta": { ...stage, delta: text },
  "response.mcp_call_arguments.done": { ...stage, arguments: text },
  "response.mcp_call.in_progress": stage,
  "response.mcp_call.completed": stage,
  "response.mcp_call.failed": stage,
  "response.mcp_list_tools.in_progress": stage,
  "response.mcp_list_tools.completed": stage,
  "response.mcp_list_tools.failed": stage,
  "response.web_search_call.in_progress": stage,
  "response.web_search_call.searching": stage,
  "response.web_search_call.completed": stage,
  "response.file_search_call.in_progress": stage,
  "response.file_search_call.searching": stage,
  "response.file_search_call.completed": stage,
  "response.code_interpreter_call.in_progress": stage,
  "response.code_interpreter_call_code.delta": { ...stage, delta: text },
  "response.code_interpreter_call_code.done": { ...stage, code: text },
  "response.code_interpreter_call.interpreting": stage,
  "response.code_interpreter_call.completed": stage,
};

/** By type. */
export const eventShapes: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  Object.entries(fields).map(([type, own]) => [type, event(type, own)]),
);
