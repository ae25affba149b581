// What a search says of what it has not seen.
import { counted } from "../words.js";

export function incompleteWords({
  missedDirectories,
  stopped,
}: {
  missedDirectories: number;
  stopped: boolean;
}): string[] {
  return [
    missedDirectories === 0 ? "" : `(${counted(missedDirectories, "directory", "directories")} could not be read)`,
    stopped ? "(There was too much to look at all of it; choose a path further down)" : "",
  ].filter(Boolean);
}
