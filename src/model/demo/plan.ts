// Which tools the user's words ask for, and which of them are called next. Looking comes first, speaking next, finishing last:
// what is said can then tell what was found. Calls of one round do not need each other and go out in one reply.
import type { ModelRequest, ModelTool } from "../model.js";
import type { Turn } from "./turn.js";
import { considerations, question, summary, update } from "./words.js";

type Wish = "think" | "list" | "tell" | "ask" | "finish";

export interface PlannedCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, string | readonly string[]>>;
}

interface Plan {
  readonly words: RegExp;
  readonly tool: string;
  readonly round: 1 | 2 | 3;
  input(turn: Turn): PlannedCall["input"];
}

/** In the order in which calls of a round are made. */
const plans: Readonly<Record<Wish, Plan>> = {
  think: {
    words: /\b(?:think|thinking|plan|consider|reason)\b/i,
    tool: "think",
    round: 1,
    input: (turn) => ({ thoughts: considerations(turn) }),
  },
  list: {
    words: /\b(?:list|ls|files?|folders?|director(?:y|ies))\b/i,
    tool: "list_directory",
    round: 1,
    input: ({ text }) => ({ path: pathIn(text) }),
  },
  tell: {
    words: /\b(?:tell|inform|update|notify|report)\b/i,
    tool: "inform_user",
    round: 2,
    input: (turn) => ({ message: update(turn) }),
  },
  ask: {
    words: /\b(?:ask|clarify|which|questions?)\b/i,
    tool: "clarify",
    round: 2,
    input: (turn) => ({ question: question(turn) }),
  },
  finish: {
    words: /\b(?:done|finish(?:ed)?|completed?)\b/i,
    tool: "work_complete",
    round: 3,
    input: (turn) => ({ summary: summary(turn) }),
  },
};
const everyWish = Object.keys(plans) as Wish[];
/** For words that ask for nothing that the demo knows. */
const defaultWishes: readonly Wish[] = ["think", "list", "tell"];

const wishesIn = (text: string): readonly Wish[] => everyWish.filter((wish) => plans[wish].words.test(text));

/** The user asks for something that the demo knows. */
export const isUnderstood = ({ text }: Turn): boolean => wishesIn(text).length > 0;

/** What the user asks for and the request does not offer. None, where no tool may be used at all. */
export function missingTools(request: ModelRequest, turn: Turn): readonly string[] {
  if (request.toolChoice.type === "none") return [];
  const missing = wishesIn(turn.text).filter((wish) => !isUsable(request, wish, turn));
  return missing.map((wish) => plans[wish].tool);
}

/** Empty: there is nothing left to call. Each tool is called once a turn at most. */
export function nextCalls(request: ModelRequest, turn: Turn): readonly PlannedCall[] {
  const left = wanted(request, turn).filter((wish) => !turn.done.some(({ tool }) => tool === plans[wish].tool));
  const round = Math.min(...left.map((wish) => plans[wish].round));
  const together = left.filter((wish) => plans[wish].round === round);
  return (request.parallelToolCalls ? together : together.slice(0, 1)).map((wish) => ({
    tool: plans[wish].tool,
    input: plans[wish].input(turn),
  }));
}

function wanted(request: ModelRequest, turn: Turn): readonly Wish[] {
  const { toolChoice } = request;
  const usable = everyWish.filter((wish) => isUsable(request, wish, turn));
  if (toolChoice.type === "named") return usable.filter((wish) => plans[wish].tool === toolChoice.name);
  const asked = isUnderstood(turn) ? wishesIn(turn.text) : defaultWishes;
  const wishes = asked.filter((wish) => usable.includes(wish));
  return wishes.length === 0 && toolChoice.type === "required" ? usable.slice(0, 1) : wishes;
}

/** The request lets the wish's tool be used, and that takes what the demo would write: another one may have the same name. */
function isUsable({ tools, toolChoice }: ModelRequest, wish: Wish, turn: Turn): boolean {
  if (toolChoice.type === "none") return false;
  const offered = tools.find(({ name }) => name === plans[wish].tool);
  return offered !== undefined && takes(offered, plans[wish].input(turn));
}

function takes({ inputSchema }: ModelTool, input: PlannedCall["input"]): boolean {
  const { properties = {}, required = [], additionalProperties = true } = inputSchema as ObjectSchema;
  return (
    required.every((field) => field in input) &&
    Object.entries(input).every(([field, value]) => {
      const schema = properties[field];
      if (schema === undefined) return additionalProperties !== false;
      return schema.type === undefined || schema.type === (typeof value === "string" ? "string" : "array");
    })
  );
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, { readonly type?: unknown }>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
}

const longestPath = 200;
const pathForms = [
  // list `src`
  /[`"“]([^`"”\n]+)[`"”]/,
  // the files in src/model
  /\b(?:in|of|under|inside|at)\s+(\.{0,2}\/?[\w@.-]+(?:\/[\w@.-]*)+|\.{1,2})(?=[\s,;:!?]|$)/i,
  // the src folder
  /\b(?:the|in|of)\s+(?!(?:the|this|that|my|our|your|current|working|whole|same|root)\b)([\w@.-]+)\s+(?:folder|directory)\b/i,
  // the files in src
  /\b(?:in|under|inside)\s+(?!(?:here|there|it|them|this|that|parallel|turn|order|detail|full|total|short|general|fact|addition)\b)([\w@.-]+)(?=[,;:!?]|\s*$)/i,
];

/** The directory that the user names, as far as a few plain forms go; else the workspace itself. */
function pathIn(text: string): string {
  const head = text.slice(0, 10 * longestPath);
  for (const form of pathForms) {
    const path = form
      .exec(head)?.[1]
      ?.trim()
      .replace(/(?<=\w)\.+$/, ""); // Without the full stop of a sentence.
    if (path && path.length <= longestPath) return path;
  }
  return ".";
}
