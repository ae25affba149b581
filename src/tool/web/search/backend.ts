// What a search service must do for web_search: say what to ask, and read its answer. Asking itself is alike for all.
import { z } from "zod";

export interface SearchQuery {
  readonly query: string;
  readonly count: number;
}

export interface SearchRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: GET. */
  readonly body?: string;
}

/** As the service gives it: not clean, not bounded. */
export interface RawResult {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
  readonly published?: string | undefined;
}

export interface SearchBackend {
  /** As people know it. */
  readonly name: string;
  /** Where it is asked when the operator says nothing else. Undefined: the operator must. */
  readonly url: string | undefined;
  /** Contract: the base URL ends without a slash. */
  request(query: SearchQuery, access: { base: string; key: string | undefined }): SearchRequest;
  /** The results in the answer, or undefined when it is no answer of this service. One that makes no sense is left out. */
  results(answer: unknown): readonly RawResult[] | undefined;
  /** What to do about a status that is no success, where this service means something by it. */
  readonly advice: Readonly<Record<number, string>>;
}

/** The entries of a list that fit; of one that is not there, none. */
export const fitting = <Entry extends z.ZodType>(list: unknown, entry: Entry): z.output<Entry>[] =>
  z
    .array(z.unknown())
    .catch([])
    .parse(list)
    .flatMap((value) => entry.safeParse(value).data ?? []);

/** Text that may be missing. */
export const maybe = z.string().nullish().catch(undefined);
