// Who answers over HTTP, and what of that may be shown to people. Nothing here reads the environment: a provider knows the
// one key and the one address that it was given.
import { createRedactor } from "../thread/redact.js";
import { cleanSummary } from "../thread/summary.js";

export interface ProviderOptions {
  /** The model's name, as the provider knows it. */
  readonly name: string;
  /** Undefined: no key is sent, which servers at home are content with. */
  readonly apiKey: string | undefined;
  /** Undefined: the provider's own address. */
  readonly baseUrl?: string;
}

export interface Provider {
  /** As messages name it: with its address where that is not the provider's own. */
  readonly who: string;
  readonly baseUrl: string;
  /** The header that carries the key. Undefined: there is none. */
  readonly keyHeader: readonly [name: string, value: string] | undefined;
  /** Where people set the key and the address. */
  readonly keyVariable: string;
  readonly baseUrlVariable: string;
  /** What somebody else wrote, as a part of a message: its first line, bounded, without the key (M4). */
  clean(text: string): string;
}

/** What is quoted of a provider's own words, in UTF-16 units. */
export const quotedUnits = 300;

export interface ProviderKind {
  readonly name: string;
  readonly ownBaseUrl: string;
  readonly keyVariable: string;
  readonly baseUrlVariable: string;
  keyHeader(key: string): readonly [name: string, value: string];
}

export function provider(kind: ProviderKind, options: ProviderOptions): Provider {
  // Files and shells leave line ends behind a key.
  const key = options.apiKey?.trim() || undefined;
  const baseUrl = options.baseUrl || kind.ownBaseUrl;
  const redactor = createRedactor({ secrets: key === undefined ? [] : [key] });
  return {
    who: baseUrl === kind.ownBaseUrl ? kind.name : `${kind.name} at ${hostOf(baseUrl)}`,
    baseUrl,
    keyHeader: key === undefined ? undefined : kind.keyHeader(key),
    keyVariable: kind.keyVariable,
    baseUrlVariable: kind.baseUrlVariable,
    // Redacted twice: a key may hold a line's end, and it may hide behind characters that cleaning takes out.
    clean: (text) => cleanSummary(firstLine(redactor.text(text)), quotedUnits, (line) => redactor.text(line)),
  };
}

/** Without user, password, path and query: those may be secret. */
const hostOf = (baseUrl: string): string => (URL.canParse(baseUrl) ? new URL(baseUrl).host : "an address that is none");

const firstLine = (text: string): string => text.match(/\S.*/)?.[0] ?? "";
