// The input of a request: new words, answers to what an earlier response asked for, and, of callers that keep the conversation
// themselves, all that was said before.
import type { BeginRequest } from "../../responses.js";
import { wrong } from "./errors.js";
import { listedPart, readImages } from "./request-images.js";
import type { ContentPart, InputItem } from "./request-shape.js";
import { parseItemId } from "./response-id.js";

type Past = BeginRequest["past"][number];

export interface ReadInput extends Pick<BeginRequest, "text" | "images" | "past" | "outputs" | "approvals"> {
  /** What the operator says, beside the request's own instructions. */
  readonly instructions: readonly string[];
  /** As the API lists them. */
  readonly items: readonly unknown[];
}

export function readInput(input: string | readonly InputItem[], hasPrevious: boolean): ReadInput {
  const items: readonly InputItem[] =
    typeof input === "string" ? [{ role: "user", content: [{ type: "input_text", text: input }] }] : input;
  const read = {
    instructions: [] as string[],
    past: [] as Past[],
    outputs: [] as Output[],
    approvals: [] as Approval[],
  };
  const called = new Map<string, { name: string; input: string; index: number }>();
  for (const [index, item] of items.entries()) take(read, item, { index, called, hasPrevious });
  const [open] = called.values();
  if (open) throw wrong("input", `No tool output found for function call ${[...called.keys()][0]?.slice(0, 100)}.`);
  const last = read.past.at(-1);
  const isUsers = last?.kind === "message" && last.role === "user";
  const { text, images = [] } = isUsers ? last : { text: "" };
  if (isUsers) read.past.pop();
  if (text === "" && images.length + read.past.length + read.outputs.length + read.approvals.length === 0)
    throw wrong("input", "Input must say something: text, or an answer to a call.", "missing_required_parameter");
  return { ...read, text, images, items: items.map(listed) };
}

type Output = BeginRequest["outputs"][number];
type Approval = BeginRequest["approvals"][number];

interface Around {
  readonly index: number;
  readonly called: Map<string, { name: string; input: string; index: number }>;
  readonly hasPrevious: boolean;
}

function take(
  read: { instructions: string[]; past: Past[]; outputs: Output[]; approvals: Approval[] },
  item: InputItem,
  { index, called, hasPrevious }: Around,
): void {
  const param = `input[${index}]`;
  if ("role" in item && typeof item.role === "string") {
    const role = item.role as Role;
    const { text, images } = readContent(item.content as Content, { role, param: `${param}.content` });
    if (role === "system" || role === "developer") read.instructions.push(text);
    else if (text !== "" || images.length > 0)
      read.past.push({ kind: "message", role, text, ...(images.length > 0 && { images }) });
    return;
  }
  switch (item.type) {
    case "function_call":
      called.set(item.call_id, { name: item.name, input: item.arguments, index });
      return;
    case "function_call_output": {
      const output = typeof item.output === "string" ? item.output : item.output.map(({ text }) => text).join("\n");
      const call = called.get(item.call_id);
      called.delete(item.call_id);
      if (call) read.past.push({ kind: "call", name: call.name, input: call.input, output, isError: false });
      else read.outputs.push({ toolCallId: answered(item.call_id, `${param}.call_id`, hasPrevious), output });
      return;
    }
    case "mcp_call":
      read.past.push({
        kind: "call",
        name: item.name,
        input: item.arguments,
        output: item.output ?? "",
        isError: !item.output,
      });
      return;
    case "mcp_approval_response": {
      const toolCallId = parseItemId("mcpr", item.approval_request_id);
      if (!toolCallId || !hasPrevious)
        throw wrong(`${param}.approval_request_id`, "There is no such approval request.");
      read.approvals.push({ toolCallId, isAllowed: item.approve, reason: item.reason ?? "" });
      return;
    }
    default:
      return;
  }
}

/** A call of the response before. */
function answered(callId: string, param: string, hasPrevious: boolean): string {
  const toolCallId = parseItemId("call", callId);
  if (toolCallId && hasPrevious) return toolCallId;
  throw wrong(param, `No tool call found for function call output with call_id ${callId.slice(0, 100)}.`);
}

type Role = "user" | "assistant" | "system" | "developer";
type Content = string | readonly ContentPart[];

function readContent(content: Content, { role, param }: { role: Role; param: string }) {
  if (typeof content === "string") return { text: content, images: [] };
  const images = readImages(content, { isUsers: role === "user", param });
  return { text: content.flatMap(wordsOf).join("\n"), images };
}

const wordsOf = (part: ContentPart): string[] =>
  part.type === "input_image" ? [] : [part.type === "refusal" ? part.refusal : part.text];

/** Every item has an id, and what a message says is a list of parts. */
function listed(item: InputItem, index: number): unknown {
  const id = (item as { id?: string | null }).id ?? `item_${index}`;
  if (!("role" in item)) return { ...item, id };
  const type = item.role === "assistant" ? "output_text" : "input_text";
  const said = item.content as Content;
  const content = typeof said === "string" ? [{ type, text: said }] : said.map(listedPart);
  return { ...item, id, type: "message", status: item.status ?? "completed", content };
}
