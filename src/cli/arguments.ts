// Arguments that several commands take.
import { InvalidArgumentError } from "commander";
import { isUuid } from "../thread/ids.js";

export function uuidArgument(text: string): string {
  const id = text.toLowerCase();
  if (isUuid(id)) return id;
  throw new InvalidArgumentError(
    'It must be an id such as 7b0f2c4e-5a36-4d0e-9c3f-2f6f2b7b9a10; "heddle threads" lists those of threads.',
  );
}

const largestSequence = 2n ** 64n - 1n;

export function sequenceArgument(text: string): bigint {
  if (/^\d{1,20}$/.test(text) && BigInt(text) <= largestSequence) return BigInt(text);
  throw new InvalidArgumentError("It must be the sequence of an event: 0, 1, 2, …");
}

export function countArgument(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number from 1 on.");
}
