// What POST /v1/responses takes. Strict: a field that is not known, or not supported, is refused by name.
import { z } from "zod";
import { limits } from "../../thread/limits.js";
import { cleanSummary } from "../../thread/summary.js";
import { utf8Bytes } from "../../thread/text.js";
import { wrong } from "./errors.js";
import { parseJson } from "./request-json.js";

const text = z.string();
const inputText = z.strictObject({ type: z.literal("input_text"), text });
const outputText = z.looseObject({ type: z.literal("output_text"), text });
const refusal = z.strictObject({ type: z.literal("refusal"), refusal: text });
const inputImage = z.strictObject({
  type: z.literal("input_image"),
  image_url: text.nullish(),
  file_id: text.nullish(),
  detail: z.enum(["auto", "low", "high"]).nullish(),
});
const part = z.discriminatedUnion("type", [inputText, inputImage, outputText, refusal]);
const content = z.union([text, z.array(part)]);

/** Of an output in parts. */
export const joinedText = (parts: readonly { readonly text: string }[]): string =>
  parts.map(({ text }) => text).join("\n");

const message = z.strictObject({
  type: z.literal("message").optional(),
  id: text.nullish(),
  status: text.nullish(),
  role: z.enum(["user", "assistant", "system", "developer"]),
  content,
  phase: text.nullish(),
});

/** Of a call that a caller tells of. */
const callName = z
  .string()
  .max(200)
  .refine((name) => cleanSummary(name) !== "", "must have visible characters");
/** What a call was given, or gave. */
const isCallText = (said: string): boolean => utf8Bytes(said) <= limits.contentChunkBytes;
const callTextRule = `may have at most ${limits.contentChunkBytes} bytes`;
const callText = text.refine(isCallText, callTextRule);
const callParts = z.array(inputText).refine((parts) => isCallText(joinedText(parts)), callTextRule);

const functionCall = z.looseObject({
  type: z.literal("function_call"),
  call_id: text,
  name: callName,
  arguments: callText,
});
const functionOutput = z.strictObject({
  type: z.literal("function_call_output"),
  id: text.nullish(),
  status: text.nullish(),
  call_id: text,
  output: z.union([callText, callParts]),
});
const mcpCall = z.looseObject({
  type: z.literal("mcp_call"),
  name: callName,
  arguments: callText,
  output: callText.nullish(),
});
const approvalResponse = z.strictObject({
  type: z.literal("mcp_approval_response"),
  id: text.nullish(),
  approval_request_id: text,
  approve: z.boolean(),
  reason: text.nullish(),
});
/** Of an earlier response, sent back as it was: the server has no use for them. */
const keptBack = z.looseObject({
  type: z.enum([
    "reasoning",
    "mcp_list_tools",
    "mcp_approval_request",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
  ]),
});

const item = z.union([message, functionCall, functionOutput, mcpCall, approvalResponse, keptBack]);
export type ContentPart = z.output<typeof part>;
export type InputItem = z.output<typeof item>;

const functionTool = z.strictObject({
  type: z.literal("function"),
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, "must be 1 to 64 characters of a-z A-Z 0-9 _ -"),
  description: text.nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
});

/** Not by what a server says of its tools (`read_only`): nobody vouches for it. */
const filter = z.strictObject({ tool_names: z.array(text).nullish() });
const names = z.union([z.array(text), filter]);
const mcpTool = z.strictObject({
  type: z.literal("mcp"),
  server_label: z.string().min(1).max(64),
  server_url: text.nullish(),
  server_description: text.nullish(),
  headers: z.record(z.string(), text).nullish(),
  authorization: text.nullish(),
  allowed_tools: names.nullish(),
  require_approval: z
    .union([
      z.enum(["always", "never"]),
      z.strictObject({
        always: filter.nullish(),
        never: filter.nullish(),
      }),
    ])
    .nullish(),
});

const webSearchTypes = [
  "web_search",
  "web_search_2025_08_26",
  "web_search_preview",
  "web_search_preview_2025_03_11",
] as const;
const webSearch = z.looseObject({ type: z.enum(webSearchTypes) });
const fileSearch = z.looseObject({ type: z.literal("file_search") });
const codeInterpreter = z.looseObject({ type: z.literal("code_interpreter") });

const tool = z.discriminatedUnion("type", [functionTool, mcpTool, webSearch, fileSearch, codeInterpreter]);
export type RequestedTool = z.output<typeof tool>;

const chosenTool = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("function"), name: text }),
  z.strictObject({ type: z.literal("mcp"), server_label: text, name: text.nullish() }),
  z.strictObject({ type: z.enum([...webSearchTypes, "file_search", "code_interpreter"]) }),
]);
export type ChosenTool = z.output<typeof chosenTool>;

const toolChoice = z.union([
  z.enum(["auto", "none", "required"]),
  z.discriminatedUnion("type", [
    ...chosenTool.options,
    z.strictObject({
      type: z.literal("allowed_tools"),
      mode: z.enum(["auto", "required"]),
      tools: z.array(chosenTool).min(1).max(128),
    }),
  ]),
]);

const textFormat = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text") }),
  z.strictObject({ type: z.literal("json_object") }),
  z.strictObject({
    type: z.literal("json_schema"),
    name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, "must be 1 to 64 characters of a-z A-Z 0-9 _ -"),
    description: text.nullish(),
    schema: z.record(z.string(), z.unknown()),
    strict: z.boolean().nullish(),
  }),
]);

export const includable = [
  "web_search_call.action.sources",
  "file_search_call.results",
  "code_interpreter_call.outputs",
  "message.output_text.logprobs",
  "reasoning.encrypted_content",
] as const;

/** As large as a run's options take it. */
const count = z.int().min(1).max(0xffff_ffff);

/** Also what /openapi.json shows. */
export const requestShape = z.strictObject({
  model: text.nullish(),
  input: z.union([text, z.array(item)]).nullish(),
  instructions: text.nullish(),
  previous_response_id: text.nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_obfuscation: z.boolean().optional() }).nullish(),
  store: z.boolean().nullish(),
  background: z.boolean().nullish(),
  metadata: z
    .record(z.string().max(64), z.string().max(512))
    .refine((pairs) => Object.keys(pairs).length <= 16, "may have at most 16 pairs")
    .nullish(),
  tools: z.array(tool).max(128).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_output_tokens: count.nullish(),
  max_tool_calls: count.nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  include: z.array(z.enum(includable)).nullish(),
  text: z.strictObject({ format: textFormat.nullish(), verbosity: text.nullish() }).nullish(),
  reasoning: z.looseObject({}).nullish(),
  truncation: z.enum(["auto", "disabled"]).nullish(),
  service_tier: z.enum(["auto", "default"]).nullish(),
  top_logprobs: z.literal(0).nullish(),
  user: text.nullish(),
  safety_identifier: text.nullish(),
  prompt_cache_key: text.nullish(),
  prompt_cache_retention: text.nullish(),
});

export type ResponseRequest = z.output<typeof requestShape>;

/** Throws an ApiError that names the field. */
export function parseRequest(body: string): ResponseRequest {
  const checked = requestShape.safeParse(parseJson(body));
  if (checked.success) return checked.data;
  const { param, message } = problemOf(checked.error.issues[0]!);
  throw wrong(param, message, message.startsWith("Unknown parameter") ? "unknown_parameter" : "invalid_value");
}

interface Problem {
  readonly param: string;
  readonly message: string;
}

/** Of alternatives, the one that came closest: its problem lies deepest, and is not that it is another type. */
function problemOf(issue: z.core.$ZodIssue, above: readonly PropertyKey[] = []): Problem {
  const path = [...above, ...issue.path];
  if (issue.code === "unrecognized_keys") {
    const param = dotted([...path, issue.keys[0]!]);
    return { param, message: `Unknown parameter: '${param}'.` };
  }
  if (issue.code === "invalid_union" && issue.errors.length > 0) {
    const inner = issue.errors
      .flatMap(([first]) => (first ? [first] : []))
      .toSorted((a, b) => depthOf(b) - depthOf(a) || Number(isOfType(a)) - Number(isOfType(b)))[0];
    if (inner && depthOf(inner) > 0) return problemOf(inner, path);
  }
  const param = dotted(path);
  if (param === "") return { param, message: "The body of the request must be a JSON object." };
  return { param, message: `Invalid value for '${param}': ${issue.message}.` };
}

const depthOf = ({ path, code }: z.core.$ZodIssue): number => path.length + (code === "unrecognized_keys" ? 1 : 0);

const isOfType = ({ path }: z.core.$ZodIssue): boolean => path.at(-1) === "type";

/** What is shown of a name that a caller made up, in UTF-16 units. */
const shownUnits = 64;

const dotted = (path: readonly PropertyKey[]): string =>
  path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    const name = String(part).slice(0, shownUnits);
    return text === "" ? name : `${text}.${name}`;
  }, "");
