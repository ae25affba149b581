// Shows what goes beyond files: code that is run, a process in the background, indexed documents, a sub-agent.
import { background, backgroundTools } from "./background.js";
import type { PlannedCall } from "./planned-call.js";
import type { Answer, Story } from "./story.js";
import { outcomeWords } from "./words.js";

export const tourTools = ["code_interpreter", ...backgroundTools, "file_search", "delegate_task"];

export const tourWish = (text: string): boolean => /\b(?:tour|show me (?:everything|what you can do))\b/i.test(text);

const chart = `from statistics import mean

values = [3, 1, 4, 1, 5, 9, 2, 6]
bars = "".join(
    f'<rect x="{30 * place}" y="{100 - 10 * value}" width="20" height="{10 * value}"/>'
    for place, value in enumerate(values)
)
with open("chart.svg", "w") as file:
    file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="240" height="100">{bars}</svg>')
print("The mean is", mean(values))
`;
const stillThere = "sorted(values)";
const backwards = '[..."Heddle"].reverse().join("")';
/** Ends by itself. */
const ticking = "for n in 1 2 3 4 5; do echo tick $n; sleep 2; done";
const question = "What is this project about?";

export function* tour(): Story {
  const seen = [yield* code(), yield* process(), yield* documents(), yield* subAgent()];
  return `That was the tour. ${seen.join(" ")}`;
}

function* code(): Story {
  const [first] = yield {
    words: "First some Python: it computes, and draws a chart.",
    calls: [call("code_interpreter", { language: "python", code: chart })],
  };
  if (first?.outcome !== "succeeded") return outcomeWords(first!);
  const rest = yield {
    words: "What it has defined is still there; and JavaScript runs as well.",
    calls: [
      call("code_interpreter", { language: "python", code: stillThere }),
      call("code_interpreter", { language: "javascript", code: backwards }),
    ],
  };
  return words(rest, "The chart is kept with its call: heddle call ID --save DIR gets it.");
}

function* process(): Story {
  const last = yield* background({ command: ticking, isToStop: true });
  return /^stop_process answered/.test(last) ? "A process ran in the background until I stopped it." : last;
}

function* documents(): Story {
  const found = yield { words: "Then I search your documents.", calls: [call("file_search", { query: question })] };
  if (found[0]?.outcome === "failed") return `${outcomeWords(found[0])} Index a folder with: heddle index DIR.`;
  return words(found, "What I found in your documents comes with file and line.");
}

function* subAgent(): Story {
  const delegated = yield {
    words: "Last, a sub-agent looks around for me.",
    calls: [call("delegate_task", { task: "look around", prompt: "List the files in this folder and tell me" })],
  };
  return words(delegated, "The sub-agent has a thread of its own: heddle threads lists it.");
}

/** What went wrong, else what there is to know. */
function words(answers: readonly Answer[], well: string): string {
  const wrong = answers.filter(({ outcome }) => outcome !== "succeeded");
  return wrong.length === 0 ? well : wrong.map(outcomeWords).join(" ");
}

const call = (tool: string, input: PlannedCall["input"]): PlannedCall => ({ tool, input });
