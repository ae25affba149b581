// Exit codes as people read them. A process that was killed has none, and what stands in its place must never be shown as one.

const smallest = -(2 ** 31);
const largest = 2 ** 31 - 1;

/** The exit code where it is one: a whole number of 32 bits, which is what an event can carry. */
export const knownExitCode = (exitCode: number | undefined): number | undefined =>
  Number.isInteger(exitCode) && exitCode! >= smallest && exitCode! <= largest ? exitCode! + 0 : undefined;

/** `exit code 2`, or `exit code unknown`. */
export const exitCodeWords = (exitCode: number | undefined): string =>
  `exit code ${knownExitCode(exitCode) ?? "unknown"}`;
