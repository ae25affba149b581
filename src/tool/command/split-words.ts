// A line as somebody would type it for one program, split into words. Nothing is expanded, and whatever a shell would do more
// than splitting is refused: what is meant and what is run must be the same.
import { ToolFailure } from "../tool.js";

const quoted = /'([^']*)'|"([^"$`\\]*)"|([^\s'"|&;<>()$`\\*?[\]{}~#!\n\r]|(?<=[^\s])[~#!])/uy;
const space = /[ \t]+/y;

/** Contract: throws a ToolFailure for anything but words, in quotes or not. */
export function splitWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < line.length; ) {
    space.lastIndex = at;
    quoted.lastIndex = at;
    if (space.test(line)) {
      at = space.lastIndex;
      if (word !== undefined) words.push(word);
      word = undefined;
      continue;
    }
    const piece = quoted.exec(line);
    if (piece === null) throw notWords(line[at]!);
    word = (word ?? "") + (piece[1] ?? piece[2] ?? piece[3]!);
    at = quoted.lastIndex;
  }
  return word === undefined ? words : [...words, word];
}

const notWords = (char: string): ToolFailure =>
  new ToolFailure(
    `Only one program runs, and no shell: ${JSON.stringify(char)} has no meaning there; quote it with '…', or use run_command`,
    { code: "EINVAL" },
  );
