// What the demo says and calls next: a step of a story where the user wants one, else the tools that the words ask for.
import type { ModelRequest } from "../model.js";
import { isOffered, type PlannedCall } from "./planned-call.js";
import { wantedStory } from "./stories.js";
import { playStory } from "./story.js";
import type { Turn } from "./turn.js";
import { defaultTools, everyWish, type Wish } from "./wishes.js";
import { finalWords } from "./words.js";

export interface Reply {
  readonly words: string;
  /** Empty: there is nothing left to call. */
  readonly calls: readonly PlannedCall[];
}

export function nextReply(request: ModelRequest, turn: Turn): Reply {
  const wanted = wantedStory(turn.text);
  const { type } = request.toolChoice;
  if (wanted !== undefined && (type === "auto" || type === "required")) {
    const reply = playStory(wanted.begin(), request, turn.done);
    if (reply.calls.length > 0 || turn.done.length > 0 || type === "auto") return reply;
  }
  const calls = nextCalls(request, turn);
  return { words: calls.length === 0 ? finalWords(turn, isUnderstood(turn)) : "", calls };
}

/** What the user asks for and the request does not offer. None, where no tool may be used at all. */
export function missingTools(request: ModelRequest, turn: Turn): readonly string[] {
  if (request.toolChoice.type === "none") return [];
  const story = wantedStory(turn.text);
  if (story) return story.tools.filter((tool) => !request.tools.some(({ name }) => name === tool));
  return wishesIn(turn)
    .filter((wish) => !isOffered(request, callOf(wish, turn)))
    .map(({ tool }) => tool);
}

/** Each tool is called once a turn at most. */
function nextCalls(request: ModelRequest, turn: Turn): readonly PlannedCall[] {
  const left = wanted(request, turn).filter((wish) => !turn.done.some(({ tool }) => tool === wish.tool));
  const round = Math.min(...left.map((wish) => wish.round));
  const together = left.filter((wish) => wish.round === round);
  return (request.parallelToolCalls ? together : together.slice(0, 1)).map((wish) => callOf(wish, turn));
}

function wanted(request: ModelRequest, turn: Turn): readonly Wish[] {
  const { toolChoice } = request;
  const usable = everyWish.filter((wish) => isCallable(wish, turn) && isOffered(request, callOf(wish, turn)));
  if (toolChoice.type === "named") return usable.filter(({ tool }) => tool === toolChoice.name);
  const asked = isUnderstood(turn) ? wishesIn(turn) : everyWish.filter(({ tool }) => defaultTools.includes(tool));
  const wishes = asked.filter((wish) => usable.includes(wish));
  return wishes.length === 0 && toolChoice.type === "required" ? usable.slice(0, 1) : wishes;
}

const wishesIn = ({ text }: Turn): readonly Wish[] => everyWish.filter((wish) => wish.find(text) !== undefined);

/** The user asks for something that the demo knows. */
const isUnderstood = (turn: Turn): boolean => wishesIn(turn).length > 0;

const isCallable = ({ needsName, find }: Wish, { text }: Turn): boolean => !needsName || find(text) !== undefined;

const callOf = ({ tool, find, input }: Wish, turn: Turn): PlannedCall => ({
  tool,
  input: input(turn, find(turn.text) ?? ""),
});
