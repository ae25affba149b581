// How far delegate_task may go.
import { section, whole } from "./rules.js";
import type { Layer } from "./sources.js";

export interface DelegationConfig {
  /** How deep tasks may be delegated: 1 lets an agent delegate, and its sub-agents not. 0: nobody delegates. */
  readonly depth: number;
  /** Tasks of one run that are under way at the same time. */
  readonly atOnce: number;
  /** Tasks that one run may delegate in all. */
  readonly perRun: number;
}

export const defaultDelegation: DelegationConfig = { depth: 2, atOnce: 4, perRun: 32 };

export const delegationSchema = section({
  depth: whole(0, 8).optional(),
  atOnce: whole(1, 64).optional(),
  perRun: whole(1, 1_000).optional(),
});

export const delegationOf = (layers: readonly Layer[]): DelegationConfig => {
  const given = layers.findLast(({ values }) => values.agent?.delegation !== undefined)?.values.agent?.delegation ?? {};
  const { depth, atOnce, perRun } = given;
  return {
    depth: depth ?? defaultDelegation.depth,
    atOnce: atOnce ?? defaultDelegation.atOnce,
    perRun: perRun ?? defaultDelegation.perRun,
  };
};
