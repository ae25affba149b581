// What the user's words can ask for, one tool each. Looking comes first, then running, speaking and finishing: what is said can
// then tell what was found. Calls of one round do not need each other and go out in one reply.
import {
  addressIn,
  codeIn,
  commandIn,
  directoryIn,
  documentQueryIn,
  fileIn,
  globIn,
  searchIn,
} from "./named-things.js";
import type { PlannedCall } from "./planned-call.js";
import type { Turn } from "./turn.js";
import { considerations, question, summary, todoItems, update } from "./words.js";

export interface Wish {
  readonly tool: string;
  readonly round: 1 | 2 | 3 | 4;
  /** The words that ask for it. Undefined: nothing does. */
  find(text: string): string | undefined;
  /** It is about what the words name, and cannot be called without. */
  readonly needsName?: true;
  input(turn: Turn, found: string): PlannedCall["input"];
}

const word =
  (form: RegExp): Wish["find"] =>
  (text) =>
    form.exec(text)?.[0];

/** In the order in which calls of a round are made. */
export const everyWish: readonly Wish[] = [
  {
    tool: "think",
    round: 1,
    find: word(/\b(?:think|thinking|plan|consider|reason)\b/i),
    input: (turn) => ({ thoughts: considerations(turn) }),
  },
  {
    tool: "update_todos",
    round: 1,
    find: word(/\bto-?do list\b/i),
    input: (turn) => ({ items: todoItems(turn) }),
  },
  {
    tool: "list_directory",
    round: 1,
    find: word(/\b(?:(?<!to-?do )list|ls|files?|folders?|director(?:y|ies)|look around)\b/i),
    input: ({ text }) => ({ path: directoryIn(text) }),
  },
  { tool: "glob_files", round: 1, find: globIn, needsName: true, input: (_, pattern) => ({ pattern }) },
  { tool: "grep_files", round: 1, find: searchIn, needsName: true, input: (_, pattern) => ({ pattern }) },
  { tool: "file_search", round: 1, find: documentQueryIn, needsName: true, input: (_, query) => ({ query }) },
  { tool: "read_file", round: 1, find: fileIn, needsName: true, input: (_, path) => ({ path }) },
  {
    tool: "gather",
    round: 1,
    find: word(/\bgit status\b/i),
    input: () => ({ command: "git status --short" }),
  },
  { tool: "git_diff", round: 1, find: word(/\b(?:diff|changed|changes)\b/i), input: () => ({}) },
  { tool: "web_fetch", round: 1, find: addressIn, needsName: true, input: (_, url) => ({ url }) },
  {
    tool: "code_interpreter",
    round: 1,
    find: (text) => codeIn(text)?.code,
    needsName: true,
    input: ({ text }, code) => ({ language: codeIn(text)?.language ?? "python", code }),
  },
  { tool: "run_command", round: 2, find: commandIn, needsName: true, input: (_, command) => ({ command }) },
  {
    tool: "inform_user",
    round: 3,
    find: word(/\b(?:tell|inform|update|notify|report)\b/i),
    input: (turn) => ({ message: update(turn) }),
  },
  {
    tool: "clarify",
    round: 3,
    find: word(/\b(?:ask|clarify|which|questions?)\b/i),
    input: (turn) => ({ question: question(turn) }),
  },
  {
    tool: "work_complete",
    round: 4,
    find: word(/\b(?:done|finish(?:ed)?|completed?)\b/i),
    input: (turn) => ({ summary: summary(turn) }),
  },
];

/** For words that ask for nothing that the demo knows. */
export const defaultTools: readonly string[] = ["think", "list_directory", "inform_user"];
