// The events of a stream, by type: what the fold may tell, and no other. event-shape.ts has a shape for each, or does not compile.
import type { Annotation, ContentPart, Item, ResponseObject, SummaryPart } from "./wire.js";

interface Whole {
  /** As it stood when the event was made. */
  readonly response: ResponseObject;
}

interface Place {
  readonly item_id: string;
  readonly output_index: number;
}

/** What Heddle adds for a person. */
interface Words {
  readonly heddle?: { readonly summary: string };
}

interface OfItem extends Words {
  readonly output_index: number;
  readonly item: Item;
}

/** Of a call: with the tool's name, and sometimes with words. */
export interface Stage extends Place, Words {
  readonly name: string;
}

interface InText extends Place {
  readonly content_index: number;
}

interface InSummary extends Place {
  readonly summary_index: number;
}

type Delta = { readonly delta: string };
type Text = { readonly text: string };
type Arguments = { readonly arguments: string };
type NoLogprobs = { readonly logprobs: [] };

/** By type, without the number that is stamped where they leave. */
export interface EventFields {
  "response.created": Whole;
  "response.queued": Whole;
  "response.in_progress": Whole;
  "response.completed": Whole;
  "response.failed": Whole;
  "response.incomplete": Whole;
  "response.output_item.added": OfItem;
  "response.output_item.done": OfItem;
  "response.content_part.added": InText & { readonly part: ContentPart };
  "response.content_part.done": InText & { readonly part: ContentPart };
  "response.output_text.delta": InText & Delta & NoLogprobs;
  "response.output_text.annotation.added": InText & {
    readonly annotation_index: number;
    readonly annotation: Annotation;
  };
  "response.output_text.done": InText & Text & NoLogprobs;
  "response.refusal.delta": InText & Delta;
  "response.refusal.done": InText & { readonly refusal: string };
  "response.reasoning_summary_part.added": InSummary & { readonly part: SummaryPart };
  "response.reasoning_summary_part.done": InSummary & { readonly part: SummaryPart };
  "response.reasoning_summary_text.delta": InSummary & Delta;
  "response.reasoning_summary_text.done": InSummary & Text;
  "response.function_call_arguments.delta": Stage & Delta;
  "response.function_call_arguments.done": Stage & Arguments;
  "response.mcp_call_arguments.delta": Stage & Delta;
  "response.mcp_call_arguments.done": Stage & Arguments;
  "response.mcp_call.in_progress": Stage;
  "response.mcp_call.completed": Stage;
  "response.mcp_call.failed": Stage;
  "response.mcp_list_tools.in_progress": Stage;
  "response.mcp_list_tools.completed": Stage;
  "response.mcp_list_tools.failed": Stage;
  "response.web_search_call.in_progress": Stage;
  "response.web_search_call.searching": Stage;
  "response.web_search_call.completed": Stage;
  "response.file_search_call.in_progress": Stage;
  "response.file_search_call.searching": Stage;
  "response.file_search_call.completed": Stage;
  "response.code_interpreter_call.in_progress": Stage;
  "response.code_interpreter_call_code.delta": Stage & Delta;
  "response.code_interpreter_call_code.done": Stage & { readonly code: string };
  "response.code_interpreter_call.interpreting": Stage;
  "response.code_interpreter_call.completed": Stage;
}

export type EventType = keyof EventFields;

/** Types of events of calls. */
export type StageType = { [Type in EventType]: EventFields[Type] extends Stage ? Type : never }[EventType];

/** Those that have these fields besides, and no other. */
export type StageWith<Field extends string> = {
  [Type in StageType]: [Exclude<keyof EventFields[Type], keyof Stage>, Field] extends [Field, keyof EventFields[Type]]
    ? Type
    : never;
}[StageType];

/** One event. */
export type Frame = { [Type in EventType]: { readonly type: Type } & EventFields[Type] }[EventType];
