// What the demo says. Of tools it tells what they have said, never what they might have.
import { cleanSummary } from "../../thread/summary.js";
import type { Answer } from "./story.js";
import { matchCount } from "./tool-texts.js";
import { type DoneCall, introduction, type Turn } from "./turn.js";

/** What is quoted of the user and of tools, in UTF-16 units. */
const quotedUnits = 100;
/** Entries of a directory, and names of a list, that are named; the others are counted. */
const namedEntries = 3;

const realModel =
  "For a real one set OPENAI_API_KEY and start with --model openai:gpt-…, or set ANTHROPIC_API_KEY and start with --model anthropic:claude-….";
export const noWorkspace = "There is no workspace: start with --workspace DIR to give me one.";
const abilities =
  "list, read, find (`**/*.js`) and search (for `TODO`) files, run `a command`, also in the background, run Python (`1 + 1`), search your documents for something, delegate a task, find a bug and fix it, show all of that on a tour, think, tell you something, ask you a question, or finish";

/** Offered where there is a workspace, whatever else there is. */
const workspaceTools = ["list_directory", "glob_files", "grep_files", "read_file", "edit_file"];

/** Opens the answer to each message of the user. `missingTools`: what the user's words ask for and the request does not offer. */
export function firstWords({ isKnown }: Turn, missingTools: readonly string[]): string {
  const intro = isKnown
    ? `Still ${introduction}: this is canned.`
    : `I am ${introduction}: I play canned behaviour with real tools, and no model is asked. ${realModel}`;
  const hasWorkspace = !missingTools.some((tool) => workspaceTools.includes(tool));
  const missing = missingTools
    .filter((tool) => !workspaceTools.includes(tool))
    .map((tool) => `The tool ${tool} is not offered here.`);
  return [intro, ...(hasWorkspace ? [] : [noWorkspace]), ...missing].join(" ");
}

/** What the demo "thinks" before it calls the tools. */
export function reasoningWords(tools: readonly string[]): string {
  if (tools.length === 0) return "";
  if (tools.length === 1) return `Next I call ${tools[0]}.`;
  return `${tools.slice(0, -1).join(", ")} and ${tools.at(-1)} do not need each other: I call them at the same time.`;
}

/** Closes the turn. `isUnderstood`: the user has asked for something that the demo knows. */
export function finalWords({ text, done }: Turn, isUnderstood: boolean): string {
  if (done.length === 0) return `I have called no tool. With tools that I know and may use, I can ${abilities}.`;
  const end = `That is all that the demo does with ${quoted(text)}.`;
  const hint = isUnderstood ? [] : [`Write what you want to see: I can ${abilities}.`];
  return [...done.map(outcomeWords), end, ...hint].join(" ");
}

export const considerations = ({ text }: Turn): string[] => [
  `The user wrote ${quoted(text)}.`,
  "I look for words that I know, and call the tools that go with them.",
  "I am a demo: these thoughts are canned.",
];

export const todoItems = ({ text }: Turn) => [
  { content: `Read ${quoted(text)}`, status: "completed" },
  { content: "Call the tools that go with it", status: "in_progress" },
  { content: "Tell what came of it", status: "pending" },
];

export function update(turn: Turn): string {
  const seen = seenWords(turn);
  if (seen.length > 0) return seen.join(" ");
  return "This is an update from the demo. You can read it while it is still being written, word for word.";
}

export const question = (turn: Turn): string => [...seenWords(turn), `What shall I do next: ${abilities}?`].join(" ");

export const summary = ({ text, done }: Turn): string =>
  [...done.map(outcomeWords), `The demo is done with ${quoted(text)}.`].join(" ");

/** Tools that find nothing out. */
const isTalk = (tool: string): boolean => ["think", "update_todos", "inform_user"].includes(tool);

const seenWords = ({ done }: Turn): string[] => done.filter(({ tool }) => !isTalk(tool)).map(outcomeWords);

export function outcomeWords({ tool, result, outcome }: DoneCall | Answer): string {
  if (outcome === "missing") return `The tool ${tool} is not offered here.`;
  if (outcome === "denied") return sentence(`${tool} was denied: ${quoted(withoutPreface(result))}`);
  if (outcome === "failed") return sentence(`${tool} did not work: ${quoted(result)}`);
  if (tool === "grep_files") return `grep_files found ${matchCount(result)}.`;
  return (tool === "list_directory" && listingWords(result)) || sentence(`${tool} answered ${quoted(result)}`);
}

/** Why, without what the loop says around it. */
const withoutPreface = (result: string): string =>
  result.replace(/^The call was not run\. /, "").replace(/\. .*$/s, "");

/** A listing says `path/: 12 entries`, then a line for each. Undefined: this says something else. */
function listingWords(result: string): string | undefined {
  const [head = "", ...lines] = result.split("\n", 1 + namedEntries);
  const [, path, count] = /^(.*): (?:\d+ of )?(\d+) entr(?:y|ies)$/.exec(head) ?? [];
  if (path === undefined || count === undefined) return undefined;
  const place = path === "./" ? "the workspace" : cleanSummary(path, quotedUnits);
  const names = lines.map((line) => cleanSummary(line.replace(/ \([^()]*\)$/, ""), quotedUnits));
  const others = Number(count) - names.length;
  const shown = names.length === 0 ? "" : `: ${names.join(", ")}${others > 0 ? ` and ${others} more` : ""}`;
  return `list_directory found ${count} ${count === "1" ? "entry" : "entries"} in ${place}${shown}.`;
}

/** `a, b and 2 more`. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, namedEntries).map((name) => cleanSummary(name, quotedUnits));
  if (names.length > namedEntries) return `${shown.join(", ")} and ${names.length - namedEntries} more`;
  return shown.length < 2 ? shown.join("") : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
}

/** `1 change`, `3 changes`. */
export const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`;

const sentence = (text: string): string => (/[.!?…]”$/.test(text) ? text : `${text}.`);
export const quoted = (text: string): string => `“${cleanSummary(text, quotedUnits)}”`;
