// What strangers write about their pages, made fit to be shown: no markup, one line each, bounded; links of the web only.
import { cleanSummary } from "../../../thread/summary.js";
import type { RawResult } from "./backend.js";

const titleUnits = 200;
const snippetUnits = 500;
const publishedUnits = 40;
const urlUnits = 2_000;

export interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
  readonly published?: string | undefined;
}

/** Undefined: its link leads nowhere on the web. */
export function cleanResult({ title, url, snippet, published }: RawResult): SearchResult | undefined {
  const link = webLink(url);
  if (link === undefined) return undefined;
  const when = plain(published ?? "", publishedUnits);
  return {
    title: plain(title, titleUnits) || new URL(link).host,
    url: link,
    snippet: plain(snippet, snippetUnits),
    ...(when !== "" && { published: when }),
  };
}

function webLink(url: string): string | undefined {
  if (url.length > urlUnits || !URL.canParse(url)) return undefined;
  const { protocol, username, password, href } = new URL(url);
  return /^https?:$/.test(protocol) && username === "" && password === "" && href.length <= urlUnits ? href : undefined;
}

/** Cut first, generously: what follows goes over the text several times. */
function plain(text: string, maxUnits: number): string {
  const start = text.slice(0, maxUnits * 8);
  return cleanSummary(withoutEntities(start.replace(/<\/?[a-z!][^<>]*>/gi, " ")), maxUnits);
}

const named: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  hellip: "…",
  ndash: "–",
  mdash: "—",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
};

const withoutEntities = (text: string): string =>
  text.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,8}));/gi,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return Object.hasOwn(named, name) ? named[name]! : whole;
      const code = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    },
  );
