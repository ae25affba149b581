// The input of an earlier call, as it is told to the model again. Anthropic takes only objects, and servers that fill the
// conversation into a template fail on broken JSON: one bad input would have every later request refused.
import { parsedObject } from "./wire-values.js";

/** The input as an object. What is none is sent as one that holds the text; nothing at all is an empty one. */
export const inputObject = (input: string): Record<string, unknown> =>
  parsedObject(input) ?? (input.trim() === "" ? {} : { invalid_json: input });

/** The same as text: as the model wrote it wherever that is an object. */
export const inputText = (input: string): string =>
  parsedObject(input) === undefined ? JSON.stringify(inputObject(input)) : input;
