// Texts into terms, for passages and for queries alike: words of any script in lower case and without accents, English ones as
// their stems. Scripts that are written without spaces give pairs of neighbouring characters.
import { stem } from "./stem.js";

/** Words that say nothing about what is looked for. */
const stopWords: ReadonlySet<string> = new Set(
  `a about an and any are as at be been but by can could did do does for from had has have how i if in into is it its me my no
  not of on or our shall should so some than that the their them then there these they this to us was we were what when where
  which who whom why will with would you your`.split(/\s+/),
);

/** Nobody writes longer words; what is longer is data. */
const longestTerm = 64;
/** What a query is searched with at most. */
const mostQueryTerms = 32;

const spaceless =
  "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}ー";
const words = new RegExp(`[${spaceless}]+|(?:(?![${spaceless}])[\\p{L}\\p{N}\\p{M}])+`, "gu");
const isSpaceless = new RegExp(`^[${spaceless}]`, "u");

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant.
const isPlain = /^[\x00-\x7f]*$/;
const plainWords = /[a-z0-9]+/g;

/** All terms of a text, in order. */
export const termsOf = (text: string): string[] => rawWords(text).flatMap((word) => indexed(word));

export interface QueryTerm {
  readonly term: string;
  /** Also words that begin with it, and those that differ in a letter or two, may be meant. */
  readonly isWord: boolean;
}

/** The terms of a query, each once. Words that say nothing only count when there are no others. */
export function queryTerms(query: string): QueryTerm[] {
  const all = rawWords(query);
  const telling = all.filter((word) => !stopWords.has(word));
  const terms = new Map<string, QueryTerm>();
  for (const word of telling.length > 0 ? telling : all)
    for (const term of asked(word)) terms.set(term, { term, isWord: !isSpaceless.test(word) });
  return [...terms.values()].slice(0, mostQueryTerms);
}

/** Most texts are plain, and found out to be so ten times as fast as they are taken apart otherwise. */
const rawWords = (text: string): string[] =>
  (isPlain.test(text) ? text.toLowerCase().match(plainWords) : folded(text).match(words)) ?? [];

/** Accents are taken off letters of the kind that English has; marks of other scripts are part of their words. */
const folded = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]+/g, "")
    .normalize("NFC")
    .toLowerCase()
    .replace(/[ßæœøłđð]/g, (letter) => plain[letter]!);

const plain: Readonly<Record<string, string>> = { ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ð: "d" };

function indexed(word: string): string[] {
  if (!isSpaceless.test(word)) return [termOf(word)];
  const characters = [...word];
  return [...characters, ...pairs(characters)];
}

/** Pairs say more than characters, which are only asked for where there is but one. */
function asked(word: string): string[] {
  if (!isSpaceless.test(word)) return [termOf(word)];
  const characters = [...word];
  return characters.length === 1 ? characters : pairs(characters);
}

const pairs = (characters: readonly string[]): string[] =>
  characters.slice(1).map((character, index) => characters[index]! + character);

/** Most words come again and again. */
const known = new Map<string, string>();
const mostKnown = 50_000;

function termOf(word: string): string {
  const found = known.get(word);
  if (found !== undefined) return found;
  if (known.size >= mostKnown) known.clear();
  const term = stem(word.slice(0, longestTerm));
  known.set(word, term);
  return term;
}
