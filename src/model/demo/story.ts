// A story is work in several steps, written to be read down the page: it yields what to say and to call, and is given what came of
// it. The demo remembers nothing, so a story is told from its beginning each time, with the answers that the conversation holds,
// and goes on where those end. Contract: the same answers lead to the same calls.
import type { ModelRequest } from "../model.js";
import { isOffered, type PlannedCall } from "./planned-call.js";
import type { DoneCall } from "./turn.js";

export interface StoryStep {
  /** Said before the calls. Not said where none of them can be made. */
  readonly words: string;
  readonly calls: readonly PlannedCall[];
}

/** `missing`: the tool is not offered, and the call was never made. */
export type Answer = Omit<DoneCall, "outcome"> & { readonly outcome: DoneCall["outcome"] | "missing" };

/** Returns what is said in the end. Answers come in the order of the calls. */
export type Story<Result = string> = Generator<StoryStep, Result, readonly Answer[]>;

export function playStory(story: Story, request: ModelRequest, done: readonly DoneCall[]): StoryStep {
  const left = [...done];
  for (let step = story.next(); ; ) {
    if (step.done) return { words: step.value, calls: [] };
    const { words, calls } = step.value;
    const answers = takeAnswers(calls, request, left);
    const open = calls.filter((_, index) => answers[index] === undefined);
    if (open.length > 0 && left.length > 0) return { words: lostThread, calls: [] };
    if (open.length > 0) {
      const hasBegun = open.length < calls.filter((call) => isOffered(request, call)).length;
      return { words: hasBegun ? "" : words, calls: request.parallelToolCalls ? open : open.slice(0, 1) };
    }
    step = story.next(answers as Answer[]);
  }
}

/** The conversation holds calls that the story would not have made, such as those of another model. */
const lostThread = "Something else was called in between, and I cannot tell where I was. Send your message once more.";

/** Of each call, what came of it; undefined where it has not been made. Takes what it finds from the front of `left`. */
function takeAnswers(calls: readonly PlannedCall[], request: ModelRequest, left: DoneCall[]): (Answer | undefined)[] {
  const answers = calls.map((call): Answer | undefined =>
    isOffered(request, call) ? undefined : { tool: call.tool, result: "", outcome: "missing" },
  );
  for (let next = left[0]; next !== undefined; next = left[0]) {
    const { tool } = next;
    const index = calls.findIndex((call, at) => answers[at] === undefined && call.tool === tool);
    if (index < 0) break;
    answers[index] = left.shift();
  }
  return answers;
}
