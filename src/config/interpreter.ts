// What code_interpreter may use.
import { section, whole } from "./rules.js";
import type { Layer } from "./sources.js";

export interface InterpreterConfig {
  /** The most memory of one interpreter. */
  readonly memoryBytes: number;
  /** How long one call may take. */
  readonly timeoutMs: number;
  /** How long an interpreter that nobody uses keeps its state. */
  readonly idleMs: number;
  /** Interpreters of all threads at the same time. Beyond it, the one that was not used for longest is ended. */
  readonly atOnce: number;
}

const mib = 1024 ** 2;

export const defaultInterpreter: InterpreterConfig = {
  memoryBytes: 512 * mib,
  timeoutMs: 60_000,
  idleMs: 900_000,
  atOnce: 8,
};

export const interpreterSchema = section({
  memoryBytes: whole(128 * mib, 16 * 1024 * mib).optional(),
  timeoutMs: whole(100, 3_600_000).optional(),
  idleMs: whole(1_000, 86_400_000).optional(),
  atOnce: whole(1, 256).optional(),
});

export const interpreterOf = (layers: readonly Layer[]): InterpreterConfig => {
  const given =
    layers.findLast(({ values }) => values.agent?.interpreter !== undefined)?.values.agent?.interpreter ?? {};
  const { memoryBytes, timeoutMs, idleMs, atOnce } = given;
  return {
    memoryBytes: memoryBytes ?? defaultInterpreter.memoryBytes,
    timeoutMs: timeoutMs ?? defaultInterpreter.timeoutMs,
    idleMs: idleMs ?? defaultInterpreter.idleMs,
    atOnce: atOnce ?? defaultInterpreter.atOnce,
  };
};
