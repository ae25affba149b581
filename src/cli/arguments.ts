// Arguments that several commands take.
import { InvalidArgumentError } from "commander";
import { isUuid } from "../thread/ids.js";
import { usageEnding } from "./exit.js";
import { Failure } from "./failure.js";
import { programName } from "./program-name.js";
import { clip, safeLine } from "./terminal.js";

const longestShown = 60;

/** `what` is what the id names; `whence` says what one looks like and where to find it. */
const idArgument =
  (what: string, whence: string) =>
  (text: string): string => {
    const id = text.toLowerCase();
    if (isUuid(id)) return id;
    const message = `"${safeLine(clip(text, longestShown))}" is not the id of a ${what}. ${whence}`;
    throw new Failure(usageEnding(message), undefined);
  };

export const threadArgument = idArgument(
  "thread",
  `An id looks like 7b0f2c4e-5a36-4d0e-9c3f-2f6f2b7b9a10; "${programName} threads" lists them`,
);

export const toolCallArgument = idArgument(
  "tool call",
  `An id looks like 0d4f5c1e-8c1b-4a57-9a44-5a0f6d1f2b3c; "${programName} follow <thread>" prints it on the line that says "named"`,
);

const largestSequence = 2n ** 64n - 1n;

export function sequenceArgument(text: string): bigint {
  if (/^\d{1,20}$/.test(text) && BigInt(text) <= largestSequence) return BigInt(text);
  throw new InvalidArgumentError("It must be the sequence of an event: 0, 1, 2, …");
}

export function countArgument(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number from 1 on.");
}
