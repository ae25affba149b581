// The name under which an answer is recorded, where the server does not know the answerer by a token of its own.
import { userInfo } from "node:os";

/** Such as `ada (heddle run)`. */
export const answererOf = (command: string): string => `${userName()} (${command})`;

/** A user of a container may have no name. */
export function userName(): string {
  try {
    return userInfo().username || "somebody";
  } catch {
    return "somebody";
  }
}
