// A response as it stands now: the fold of what is stored of it, without waiting for more.
import type { StoredResponse } from "../../responses.js";
import { beginFold, type Reading } from "./events.js";
import { join } from "./join.js";
import type { ResponseFold } from "./project.js";

export async function folded(stored: StoredResponse, { responses, bodies, builtIn }: Reading): Promise<ResponseFold> {
  const fold = beginFold(stored, builtIn);
  for await (const event of responses.stored(stored)) {
    if (event.sequence > 0n) fold.take(await join(event, fold.wants(event), bodies));
    if (fold.isOver) break;
  }
  return fold;
}
