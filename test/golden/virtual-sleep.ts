// Stands in for node:timers/promises on a stage: vitest moves the timers of the global object, and not the module's.
import { pause } from "../../src/model/pause.js";

const nobody = new AbortController().signal;

const sleep = <Value>(ms: number, value?: Value, { signal = nobody }: { signal?: AbortSignal } = {}) =>
  pause(ms, signal).then(() => value);

export { sleep as setTimeout };
