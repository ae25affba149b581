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

/** As a regular expression that finds just these words. What documents are searched for is not looked for in files. */
export function searchIn(text: string): string | undefined {
  if (documentQueryIn(text) !== undefined) return undefined;
  const words = firstNamed(text, searchForms);
  return words === undefined ? undefined : escaped(words);
}

const documentForms = [
  // search my documents for `refund policy`
  /\b(?:documents?|handbook)\b[^`"“\n]*[`"“]([^`"”\n]+)[`"”]/i,
  // search my documents for the refund policy
  /\b(?:documents?|handbook)\b[^.!?\n]{0,40}?\b(?:for|about|on)\s+([^.!?\n]+)/i,
  // what do my documents say about refunds
  /\b(?:documents?|handbook)\s+(?:says?|tells?)(?:\s+us|\s+me)?\s+(?:about|on)\s+([^.!?\n]+)/i,
];
export const documentQueryIn = (text: string): string | undefined => firstNamed(text, documentForms);

export interface NamedCode {
  readonly language: "python" | "javascript";
  readonly code: string;
}

// run this Python: `print(2 ** 100)`
const codeForm = /\b(python|javascript|js)\b[^`]{0,100}`{1,3}(?:(?:python|javascript|js|py)\n)?([^`]+)`/i;
// calculate 12 * 34
const sumForm = /\b(?:calculate|compute|what is)\s+([\d(][\d\s.+*/()%-]{2,})/i;

export function codeIn(text: string): NamedCode | undefined {
  const head = text.slice(0, longestText);
  const [, language, code] = codeForm.exec(head) ?? [];
  if (code !== undefined) return { language: /^p/i.test(language!) ? "python" : "javascript", code: code.trim() };
  const sum = sumForm.exec(head)?.[1]?.trim();
  return sum === undefined ? undefined : { language: "python", code: sum };
}

/** What stands in quotation marks. */
export const quotedIn = (text: string): string | undefined => /^\s*[`"“]([^`"”]+)[`"”]\s*$/.exec(text)?.[1];

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
