// What searches have found, read from their results.
import { type Json, listOf, textOf } from "./json.js";

export interface FoundPage {
  readonly url: string;
  readonly title: string;
}

export interface FoundFile {
  readonly fileId: string;
  readonly filename: string;
}

export const foundPages = (result: unknown): FoundPage[] =>
  listOf(result, "results").map((page) => {
    const url = textOf(page, "url");
    return { url, title: textOf(page, "title") || url };
  });

/** One for each passage, the best first. */
export const foundFiles = (result: unknown): FoundFile[] =>
  listOf(result, "passages").map((passage) => ({ fileId: fileIdOf(passage), filename: textOf(passage, "document") }));

const fileIdOf = (passage: Json): string => `${textOf(passage, "collection")}/${textOf(passage, "document")}`;

/** `web_search_call.action.sources`. */
export const sourcesOf = (result: unknown): unknown[] => foundPages(result).map(({ url }) => ({ type: "url", url }));

/** `file_search_call.results`. Scores are from 0 to 1 here, and compare within one answer: the best one is the measure. */
export function passagesOf(result: unknown): unknown[] {
  const passages = listOf(result, "passages");
  const scoreOf = ({ score }: Json): number => (typeof score === "number" ? Math.max(0, score) : 0);
  const best = Math.max(1, ...passages.map(scoreOf));
  return passages.map((passage) => ({
    file_id: fileIdOf(passage),
    filename: textOf(passage, "document"),
    score: scoreOf(passage) / best,
    text: textOf(passage, "text"),
    attributes: {},
  }));
}
