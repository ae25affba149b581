// Where a model's text stops being JSON. JSON.parse does not always say where, and quotes the text when it does not; a piece
// of a secret in a message could not be blanked out any more. One character is all that is ever shown.

/** Counted from 1; columns in UTF-16 units. */
export interface JsonProblem {
  readonly line: number;
  readonly column: number;
  /** What would have been right there. */
  readonly expected: string;
  /** What is there. */
  readonly found: string;
}

/** The first place where the text breaks JSON's grammar; undefined when it does not. Contract: nesting is bounded already. */
export function findJsonProblem(json: string): JsonProblem | undefined {
  const scan = { json, at: 0 };
  try {
    readValue(scan);
    skip(scan, space);
    if (scan.at < json.length) fail("nothing more after the value");
    return undefined;
  } catch (reason) {
    if (reason instanceof Unexpected) return locate(scan, reason.expected);
    throw reason;
  }
}

interface Scan {
  readonly json: string;
  at: number;
}

class Unexpected {
  readonly expected: string;

  constructor(expected: string) {
    this.expected = expected;
  }
}

const valueRule = 'a value (a text in double quotes, a number, true, false, null, "{" or "[")';
const space = /[ \t\r\n]*/y;
const word = /true|false|null/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const escaped = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

function readValue(scan: Scan): void {
  skip(scan, space);
  if (take(scan, "{")) readItems(scan, "}", readMember);
  else if (take(scan, "[")) readItems(scan, "]", readValue);
  else if (scan.json[scan.at] === '"') readText(scan);
  else if (!skip(scan, word) && !skip(scan, number)) fail(valueRule);
}

function readItems(scan: Scan, end: "}" | "]", readItem: (scan: Scan) => void): void {
  if (take(scan, end)) return;
  do readItem(scan);
  while (take(scan, ","));
  if (!take(scan, end)) fail(`a comma or "${end}"`);
}

function readMember(scan: Scan): void {
  skip(scan, space);
  if (scan.json[scan.at] !== '"') fail("a field name in double quotes");
  readText(scan);
  if (!take(scan, ":")) fail("a colon after the field name");
  readValue(scan);
}

function readText(scan: Scan): void {
  for (scan.at++; scan.at < scan.json.length; ) {
    const code = scan.json.charCodeAt(scan.at);
    if (code === 0x22) {
      scan.at++;
      return;
    }
    if (code < 0x20) fail("the rest of the text on one line (a line break is written \\n)");
    if (code !== 0x5c) scan.at++;
    else if (!skip(scan, escaped)) fail('an escape such as \\n, \\" or \\\\');
  }
  fail("the closing quote of a text");
}

function take(scan: Scan, char: string): boolean {
  skip(scan, space);
  if (scan.json[scan.at] !== char) return false;
  scan.at++;
  return true;
}

function skip(scan: Scan, token: RegExp): boolean {
  token.lastIndex = scan.at;
  if (!token.test(scan.json)) return false;
  scan.at = token.lastIndex;
  return true;
}

function fail(expected: string): never {
  throw new Unexpected(expected);
}

function locate({ json, at }: Scan, expected: string): JsonProblem {
  let line = 1;
  let lineStart = 0;
  for (let next = json.indexOf("\n"); next !== -1 && next < at; next = json.indexOf("\n", lineStart)) {
    line++;
    lineStart = next + 1;
  }
  return { line, column: at - lineStart + 1, expected, found: charWords(json.codePointAt(at)) };
}

function charWords(code: number | undefined): string {
  if (code === undefined) return "the end of the text";
  const char = String.fromCodePoint(code);
  return /^[\p{L}\p{N}\p{P}\p{S}]$/u.test(char) ? `"${char}"` : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}
