// What a yes is bound to: the tool, its input, where it works, and what the answerer was shown. When one of them is another at
// the time of execution, the yes was for something else.
import { createHash } from "node:crypto";

export interface Approved {
  readonly toolName: string;
  /** As the model wrote it. */
  readonly input: string;
  readonly workspace: string | undefined;
  readonly preview: string | undefined;
}

/** Each part with its length before it: no two different questions run into the same bytes. */
export function approvalHash({ toolName, input, workspace, preview }: Approved): Buffer {
  const hash = createHash("sha256").update("heddle approval 1\n");
  for (const part of [toolName, input, workspace, preview])
    hash.update(part === undefined ? "-\n" : `${Buffer.byteLength(part)}:${part}\n`);
  return hash.digest();
}
