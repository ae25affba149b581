// Starts a process that outlives its call, reads what it prints, and stops it again where the user says so.
import type { PlannedCall } from "./planned-call.js";
import type { Answer, Story } from "./story.js";
import { outcomeWords, quoted } from "./words.js";

export const backgroundTools = ["start_process", "list_processes", "read_process_output", "stop_process"];

export interface BackgroundWish {
  readonly command: string;
  readonly isToStop: boolean;
}

/** Start `npm run dev` in the background. Undefined: nothing is to run there. */
export function backgroundWish(text: string): BackgroundWish | undefined {
  if (!/\bbackground\b/i.test(text)) return undefined;
  const [, command] = /[`"“]([^`"”\n]{1,1000})[`"”]/.exec(text) ?? [];
  return command === undefined ? undefined : { command, isToStop: /\bstop\b/i.test(text) };
}

export function* background({ command, isToStop }: BackgroundWish): Story {
  const [started] = yield { words: "", calls: [call("start_process", { command })] };
  const name = processName(started);
  if (name === undefined) return outcomeWords(started!);
  const [output] = yield {
    words: `It runs as ${name}, also when my turn is over. I look at what it prints.`,
    calls: [call("read_process_output", { process_id: name }), call("list_processes", {})],
  };
  const printed = output?.outcome === "succeeded" ? `${name} says ${quoted(output.result)}.` : outcomeWords(output!);
  if (!isToStop) return `${printed} It goes on: say “stop ${name}”, or delete the thread, to end it.`;
  const [stopped] = yield { words: printed, calls: [call("stop_process", { process_id: name })] };
  return outcomeWords(stopped!);
}

/** As start_process names it. */
export const processName = (started: Answer | undefined): string | undefined =>
  started?.outcome === "succeeded" ? /\bp\d+\b/.exec(started.result)?.[0] : undefined;

const call = (tool: string, input: PlannedCall["input"]): PlannedCall => ({ tool, input });
