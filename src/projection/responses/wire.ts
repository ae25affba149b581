// The words of the Responses API, as far as Heddle speaks them: items, and the response itself. Field names are the protocol's. The events
// of a stream are in wire-events.ts.

export type ItemStatus = "in_progress" | "searching" | "interpreting" | "completed" | "incomplete" | "failed";

/** Places are counted in characters. */
export type Annotation =
  | {
      readonly type: "url_citation";
      readonly start_index: number;
      /** Exclusive. */
      readonly end_index: number;
      readonly url: string;
      readonly title: string;
    }
  | {
      readonly type: "file_citation";
      /** Right behind the words that name the file. */
      readonly index: number;
      readonly file_id: string;
      readonly filename: string;
    };

export type ContentPart =
  | {
      readonly type: "output_text";
      readonly text: string;
      readonly annotations: readonly Annotation[];
      readonly logprobs: [];
    }
  | { readonly type: "refusal"; readonly refusal: string };

export interface MessageItem {
  readonly id: string;
  readonly type: "message";
  readonly status: ItemStatus;
  readonly role: "assistant";
  readonly content: readonly ContentPart[];
}

export interface SummaryPart {
  readonly type: "summary_text";
  readonly text: string;
}

export interface ReasoningItem {
  readonly id: string;
  readonly type: "reasoning";
  readonly status: ItemStatus;
  readonly summary: readonly SummaryPart[];
}

export interface FunctionCallItem {
  readonly id: string;
  readonly type: "function_call";
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

/** Only where built-in tools are shown as functions: what the server answered itself. */
export interface FunctionOutputItem {
  readonly id: string;
  readonly type: "function_call_output";
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly output: string;
}

export type McpError =
  | { readonly type: "mcp_protocol_error"; readonly code: number; readonly message: string }
  | { readonly type: "mcp_tool_execution_error"; readonly content: readonly unknown[] }
  | { readonly type: "http_error"; readonly code: number; readonly message: string };

export interface McpCallItem {
  readonly id: string;
  readonly type: "mcp_call";
  readonly status: ItemStatus;
  readonly approval_request_id: string | null;
  readonly server_label: string;
  readonly name: string;
  readonly arguments: string;
  readonly output: string | null;
  readonly error: McpError | null;
}

export interface McpListItem {
  readonly id: string;
  readonly type: "mcp_list_tools";
  readonly server_label: string;
  readonly tools: readonly McpListedTool[];
  readonly error?: string;
}

export interface McpListedTool {
  readonly name: string;
  readonly description: string | null;
  readonly input_schema: unknown;
  readonly annotations: unknown;
}

export interface McpApprovalItem {
  readonly id: string;
  readonly type: "mcp_approval_request";
  readonly server_label: string;
  readonly name: string;
  readonly arguments: string;
}

export interface WebSearchItem {
  readonly id: string;
  readonly type: "web_search_call";
  readonly status: ItemStatus;
  readonly action?: {
    readonly type: "search";
    readonly query: string;
    readonly queries: readonly string[];
    readonly sources?: readonly unknown[];
  };
}

export interface FileSearchItem {
  readonly id: string;
  readonly type: "file_search_call";
  readonly status: ItemStatus;
  readonly queries: readonly string[];
  readonly results: readonly unknown[] | null;
}

export interface CodeItem {
  readonly id: string;
  readonly type: "code_interpreter_call";
  readonly status: ItemStatus;
  readonly code: string;
  readonly container_id: string;
  readonly outputs: readonly { readonly type: "logs"; readonly logs: string }[] | null;
}

export type Item =
  | MessageItem
  | ReasoningItem
  | FunctionCallItem
  | FunctionOutputItem
  | McpCallItem
  | McpListItem
  | McpApprovalItem
  | WebSearchItem
  | FileSearchItem
  | CodeItem;

export type ResponseStatus = "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";

export interface ResponseUsage {
  readonly input_tokens: number;
  readonly input_tokens_details: { readonly cached_tokens: number };
  readonly output_tokens: number;
  readonly output_tokens_details: { readonly reasoning_tokens: number };
  readonly total_tokens: number;
}

/** What a request said, as its response says it again; and what the fold must know of it. */
export interface Echo {
  readonly model: string;
  readonly instructions: string | null;
  readonly previous_response_id: string | null;
  readonly tools: readonly unknown[];
  readonly tool_choice: unknown;
  readonly parallel_tool_calls: boolean;
  readonly temperature: number;
  readonly top_p: number;
  readonly max_output_tokens: number | null;
  readonly max_tool_calls: number | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly store: boolean;
  readonly background: boolean;
  readonly include: readonly string[];
  readonly text: unknown;
  readonly reasoning: unknown;
  readonly truncation: string;
  readonly service_tier: string;
  readonly top_logprobs: number;
  readonly presence_penalty: number;
  readonly frequency_penalty: number;
  readonly safety_identifier: string | null;
  readonly prompt_cache_key: string | null;
  readonly user: string | null;
}

/** The response itself, with all its keys. */
export type ResponseObject = {
  readonly id: string;
  readonly object: "response";
  readonly created_at: number;
  readonly completed_at: number | null;
  readonly status: ResponseStatus;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly incomplete_details: { readonly reason: string } | null;
  readonly output: readonly Item[];
  readonly usage: ResponseUsage | null;
} & Omit<Echo, "include">;
