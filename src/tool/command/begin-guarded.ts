// Starts a program as begin-process.ts does, with somebody who sees to its end should the server die. The guard is there first: no
// moment passes in which the server's death would leave the program running.
import { type BeginRequest, type BegunProcess, beginProcess } from "./begin-process.js";
import type { Guard } from "./guard.js";

/** Contract: as `beginProcess`; also rejects, and starts nothing, when nobody can guard it. */
export async function beginGuarded(guard: Guard, request: BeginRequest): Promise<BegunProcess> {
  const guarded = await guard.guard();
  try {
    const process = await beginProcess({ ...request, mark: `${request.mark}${guarded.markEnd}` });
    guarded.began(process.pid);
    void process.ended.then(() => guarded.over());
    return process;
  } catch (error) {
    guarded.over();
    throw error;
  }
}
