// The input of a request: new words, answers to what an earlier response asked for, and, of callers that keep the conversation
// themselves, all that was said before.
import type { BeginRequest } from "../../responses.js";
import { limits } from "../../thread/limits.js";
import { wrong } from "./errors.js";
import { listedPart, readImages } from "./request-images.js";
import { type ContentPart, type InputItem, joinedText } from "./request-shape.js";
import { parseItemId } from "./response-id.js";

type Past = BeginRequest["past"][number];

export interface ReadInput extends Pick<BeginRequest, "text" | "images" | "past" | "outputs" | "approvals"> {
  /** What the operator says, beside the request's own instructions. */
  readonly instructions: readonly string[];
  /** As the API lists them. */
  readonly items: readonly ListedItem[];
}

/** Each has an id of its own, whatever the caller called it: pages are asked for by it. */
export interface ListedItem {
  readonly id: string;
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
  const called = new Map<string, Called>();
  const lastOutput = items.findLastIndex(isModels);
  for (const [index, item] of items.entries())
    take(read, item, { index, called, hasPrevious, isAnswer: index > lastOutput });
  const [open] = [...called].flatMap(([id, { output }]) => (output === undefined ? [id] : []));
  if (open !== undefined) throw wrong("input", `No tool output found for function call ${open.slice(0, 100)}.`);
  const last = read.past.at(-1);
  const isUsers = last?.kind === "message" && last.role === "user";
  const { text, images = [] } = isUsers ? last : { text: "" };
  if (isUsers) read.past.pop();
  if (text === "" && images.length + read.past.length + read.outputs.length + read.approvals.length === 0)
    throw wrong("input", "Input must say something: text, or an answer to a call.", "missing_required_parameter");
  return { ...read, text, images, items: listedItems(items) };
}

type Output = BeginRequest["outputs"][number];
type Approval = BeginRequest["approvals"][number];

interface Called {
  readonly name: string;
  readonly input: string;
  output: string | undefined;
}

interface Around {
  readonly index: number;
  /** Those of one reply, until all of them have their outputs. */
  readonly called: Map<string, Called>;
  readonly hasPrevious: boolean;
  /** Nothing of the model stands behind it: it goes on from there. */
  readonly isAnswer: boolean;
}

/** Said or called by the model, in a response before. A question is not: what stands behind it may answer it. */
const isModels = (item: InputItem): boolean =>
  "role" in item ? item.role === "assistant" : /_call$|^reasoning$/.test(item.type ?? "");

function take(
  read: { instructions: string[]; past: Past[]; outputs: Output[]; approvals: Approval[] },
  item: InputItem,
  { index, called, hasPrevious, isAnswer }: Around,
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
      if (called.has(item.call_id)) throw wrong(`${param}.call_id`, "Another call of this id waits for its output.");
      called.set(item.call_id, { name: item.name, input: item.arguments, output: undefined });
      if (called.size > limits.openSubjects)
        throw wrong(param, `At most ${limits.openSubjects} function calls may wait for their outputs at a time.`);
      return;
    case "function_call_output": {
      const output = typeof item.output === "string" ? item.output : joinedText(item.output);
      const call = called.get(item.call_id);
      if (call) call.output = output;
      else read.outputs.push({ toolCallId: answered(item.call_id, `${param}.call_id`, hasPrevious), output });
      read.past.push(...takeWhole(called));
      return;
    }
    case "mcp_call":
      read.past.push({
        kind: "call",
        name: item.name,
        input: item.arguments,
        output: item.output ?? "",
        isError: !item.output,
        isTogether: false,
      });
      return;
    case "mcp_approval_response": {
      // Of a caller that keeps the conversation: what came of it is told, too.
      if (!hasPrevious && !isAnswer) return;
      const toolCallId = parseItemId("mcpr", item.approval_request_id);
      if (!toolCallId) throw wrong(`${param}.approval_request_id`, "There is no such approval request.");
      // The thread of the question knows all that was said before it.
      if (!hasPrevious && read.approvals.length === 0) read.past.length = 0;
      read.approvals.push({ toolCallId, isAllowed: item.approve, reason: item.reason ?? "" });
      return;
    }
    default:
      return;
  }
}

/** The calls of a reply, in its order, once all of them have their outputs. */
function takeWhole(called: Map<string, Called>): Past[] {
  const calls = [...called.values()];
  if (calls.some(({ output }) => output === undefined)) return [];
  called.clear();
  return calls.map(({ name, input, output = "" }, index) => ({
    kind: "call",
    name,
    input,
    output,
    isError: false,
    isTogether: index > 0,
  }));
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

function listedItems(items: readonly InputItem[]): ListedItem[] {
  const taken = new Set<string>();
  return items.map((item, index) => {
    let id = (item as { id?: string | null }).id || `item_${index}`;
    while (taken.has(id)) id += `_${index}`;
    taken.add(id);
    return listed(item, id);
  });
}

/** What a message says is a list of parts. */
function listed(item: InputItem, id: string): ListedItem {
  if (!("role" in item)) return { ...item, id };
  const type = item.role === "assistant" ? "output_text" : "input_text";
  const said = item.content as Content;
  const content = typeof said === "string" ? [{ type, text: said }] : said.map(listedPart);
  const message = { ...item, id, type: "message", status: item.status ?? "completed", content };
  return message;
}
