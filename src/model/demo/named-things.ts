// What the user's words name: a directory, a file, a pattern, a command. A few plain forms, no more.
import { escaped } from "./escaped.js";

/** More than anybody names in passing. */
const longestName = 200;
const longestText = 10 * longestName;

const directoryForms = [
  // list `src`
  /[`"“]([^`"”\n]+)[`"”]/,
  // the files in src/model
  /\b(?:in|of|under|inside|at)\s+(\.{0,2}\/?[\w@.-]+(?:\/[\w@.-]*)+|\.{1,2})(?=[\s,;:!?]|$)/i,
  // the src folder
  /\b(?:the|in|of)\s+(?!(?:the|this|that|my|our|your|current|working|whole|same|root)\b)([\w@.-]+)\s+(?:folder|directory)\b/i,
  // the files in src
  /\b(?:in|under|inside)\s+(?!(?:here|there|it|them|this|that|parallel|turn|order|detail|full|total|short|general|fact|addition)\b)([\w@.-]+)(?=[,;:!?]|\s*$)/i,
];

/** The directory that the user names; else the workspace itself. */
export const directoryIn = (text: string): string => firstNamed(text, directoryForms) ?? ".";

// read src/index.ts
const fileForm = /\b(?:read|show|open)\b[^.!?\n]*?[\s`"“]((?:[\w@.-]+\/)*[\w@-][\w@.-]*\.\w+)/i;
export const fileIn = (text: string): string | undefined => firstNamed(text, [fileForm]);

// find **/*.ts
const globForm = /(?:^|[\s`"“])([\w@./-]*\*[\w@.*/{},-]*)/;
export const globIn = (text: string): string | undefined => firstNamed(text, [globForm]);

const searchForms = [
  // search for `a word`, grep "a word"
  /\b(?:search|grep|look)\b[^`"“\n]*[`"“]([^`"”\n]+)[`"”]/i,
  // search for TODO
  /\b(?:search(?:\s+\w+){0,3}?\s+for|look\s+for|grep(?:\s+for)?)\s+([\p{L}\p{N}_$-]+)/iu,
  // where are the TODOs
  /\b(TODO)s?\b/,
];

/** As a regular expression that finds just these words. */
export function searchIn(text: string): string | undefined {
  const words = firstNamed(text, searchForms);
  return words === undefined ? undefined : escaped(words);
}

// run `npm run build`
const commandForm = /\brun\s+[`"“]([^`"”\n]+)[`"”]/i;
// run the tests, test it
const testForm = /\brun\b[^.!?\n]*\btests?\b|\btest it\b/i;
export const commandIn = (text: string): string | undefined =>
  firstNamed(text, [commandForm]) ?? (testForm.test(text.slice(0, longestText)) ? testCommand : undefined);

/** The only way of running tests that the demo knows. */
export const testCommand = "npm test";

// fetch https://example.com
const addressForm = /\b(https?:\/\/[^\s`"“”<>]+)/i;
export const addressIn = (text: string): string | undefined => firstNamed(text, [addressForm]);

function firstNamed(text: string, forms: readonly RegExp[]): string | undefined {
  const head = text.slice(0, longestText);
  for (const form of forms) {
    const name = form
      .exec(head)?.[1]
      ?.trim()
      .replace(/(?<=\w)[.,;:!?]+$/, ""); // Without the full stop of a sentence.
    if (name && name.length <= longestName) return name;
  }
  return undefined;
}
