// A request's body as JSON. How deep it may go is bounded here, before it is parsed, once for whatever stands in it: what comes later
// (shapes, what is kept and echoed, what is sent to a model) may call itself for each level.
import { wrong } from "./errors.js";

/** Levels of lists and objects. As many as the input of a tool may have. */
const mostLevels = 128;

/** Throws an ApiError. */
export function parseJson(body: string): unknown {
  const field = tooDeep(body);
  if (field !== undefined)
    throw wrong(field, `'${field}' may have at most ${mostLevels} levels of lists and objects.`, "invalid_value");
  try {
    return JSON.parse(body);
  } catch {
    throw wrong("", "We could not parse the JSON body of your request.", "invalid_json");
  }
}

interface Level {
  /** Of a list: the place of what is read now. Undefined: an object. */
  index: number | undefined;
  key: string;
}

/** The field that goes too deep; undefined when none does. What is no JSON is read as if it were. */
function tooDeep(body: string): string | undefined {
  const levels: Level[] = [];
  let text = "";
  for (let at = 0; at < body.length; at++) {
    const level = levels.at(-1);
    switch (body[at]) {
      case '"': {
        const end = endOfText(body, at);
        text = body.slice(at + 1, Math.min(end, at + 1 + shownUnits));
        at = end;
        break;
      }
      case ":":
        if (level) level.key = text;
        break;
      case ",":
        if (level?.index !== undefined) level.index++;
        break;
      case "[":
      case "{":
        if (levels.length === mostLevels) return fieldOf(levels);
        levels.push({ index: body[at] === "[" ? 0 : undefined, key: "" });
        break;
      case "]":
      case "}":
        levels.pop();
    }
  }
  return undefined;
}

/** Of a key: fields have short names. */
const shownUnits = 64;

function endOfText(body: string, begin: number): number {
  for (let at = begin + 1; ; at++) {
    at = body.indexOf('"', at);
    if (at < 0) return body.length;
    let escapes = 0;
    while (body[at - 1 - escapes] === "\\") escapes++;
    if (escapes % 2 === 0) return at;
  }
}

/** Its name as a caller would say it: the places below it say nothing more. */
function fieldOf(levels: readonly Level[]): string {
  const [top, ...below] = levels;
  let name = top?.key ?? "";
  for (const { index, key } of below.slice(0, 2)) {
    if (index === undefined) return `${name}.${key}`;
    if (name.endsWith("]")) return name;
    name += `[${index}]`;
  }
  return name;
}
