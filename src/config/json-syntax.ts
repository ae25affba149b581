// Where a text stops being JSON. JSON.parse itself does not always say, and quotes the text when it does: a configuration
// may hold secrets, so that nothing of it may reach a message.

export interface SyntaxProblem {
  /** Counted from 1. */
  readonly line: number;
  /** Counted from 1, in UTF-16 units. */
  readonly column: number;
  /** What would have been right there. */
  readonly expected: string;
}

const deepestNesting = 64;
const valueRule = 'a value: "text" in double quotes, a number, true, false, null, { or [';
const space = /[ \t\r\n]*/y;
const word = /true|false|null/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const text = /"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;

/** The first place where the text breaks JSON's grammar; undefined when it does not. */
export function findSyntaxProblem(json: string): SyntaxProblem | undefined {
  const scan = scanner(json);
  try {
    readValue(scan, 0);
    scan.skip(space);
    if (scan.at < json.length) scan.fail("the end of the file");
    return undefined;
  } catch (reason) {
    if (reason instanceof Unexpected) return locate(json, reason);
    throw reason;
  }
}

interface Scanner {
  at: number;
  skip(token: RegExp): boolean;
  sees(char: string): boolean;
  take(char: string): boolean;
  fail(expected: string): never;
}

class Unexpected extends Error {
  readonly offset: number;
  readonly expected: string;

  constructor(offset: number, expected: string) {
    super(expected);
    this.offset = offset;
    this.expected = expected;
  }
}

function scanner(json: string): Scanner {
  return {
    at: 0,
    skip(token) {
      token.lastIndex = this.at;
      const found = token.exec(json);
      if (found !== null) this.at = token.lastIndex;
      return found !== null;
    },
    sees(char) {
      return json[this.at] === char;
    },
    take(char) {
      this.skip(space);
      if (!this.sees(char)) return false;
      this.at++;
      this.skip(space);
      return true;
    },
    fail(expected) {
      throw new Unexpected(this.at, expected);
    },
  };
}

function readValue(scan: Scanner, depth: number): void {
  if (depth > deepestNesting) scan.fail(`at most ${deepestNesting} levels`);
  scan.skip(space);
  if (scan.take("{")) readList(scan, "}", () => readMember(scan, depth));
  else if (scan.take("[")) readList(scan, "]", () => readValue(scan, depth + 1));
  else if (scan.sees('"')) readText(scan, "");
  else if (!scan.skip(word) && !scan.skip(number)) scan.fail(valueRule);
}

function readList(scan: Scanner, end: "}" | "]", readItem: () => void): void {
  if (scan.take(end)) return;
  do readItem();
  while (scan.take(","));
  if (!scan.take(end)) scan.fail(`, or ${end}`);
}

function readMember(scan: Scanner, depth: number): void {
  readText(scan, 'a key in double quotes (JSON allows no comments and no comma before "}")');
  if (!scan.take(":")) scan.fail("a colon after the key");
  readValue(scan, depth + 1);
}

function readText(scan: Scanner, expected: string): void {
  if (!scan.sees('"')) scan.fail(expected);
  if (!scan.skip(text)) scan.fail('text that ends with " on the same line, with \\ only before " \\ / b f n r t u');
}

function locate(json: string, { offset, expected }: Unexpected): SyntaxProblem {
  const before = json.slice(0, offset).split("\n");
  return { line: before.length, column: before.at(-1)!.length + 1, expected };
}
