// A response as it stands now: the fold of what is stored of it, without waiting for more.
import type { Responses, StoredResponse } from "../../responses.js";
import type { BuiltInShape } from "./call-shapes.js";
import { type Bodies, join } from "./join.js";
import { ResponseFold } from "./project.js";
import type { ResponseRecord } from "./request.js";
import { responseId } from "./response-id.js";

export async function folded(
  stored: StoredResponse,
  { responses, bodies, builtIn }: { responses: Responses; bodies: Bodies; builtIn: BuiltInShape },
): Promise<ResponseFold> {
  const { echo } = JSON.parse(stored.record) as ResponseRecord;
  const { first, inputEnd } = stored;
  const fold = new ResponseFold({ id: responseId(stored), echo, first, inputEnd, builtIn });
  for await (const event of responses.stored(stored)) {
    if (event.sequence > 0n) fold.take(await join(event, fold.wants(event), bodies));
    if (fold.isOver) break;
  }
  return fold;
}
