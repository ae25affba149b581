// The work in several steps that the user's words can ask for.
import { background, backgroundTools, backgroundWish } from "./background.js";
import { delegation, delegationTools, delegationWish } from "./delegation.js";
import { repair, repairTools, repairWish } from "./repair.js";
import type { Story } from "./story.js";
import { tour, tourTools, tourWish } from "./tour.js";

export interface WantedStory {
  /** What it takes to do all of it. */
  readonly tools: readonly string[];
  begin(): Story;
}

/** Undefined: the words ask for none. What is delegated is the sub-agent's to understand, so that delegating comes first. */
export function wantedStory(text: string): WantedStory | undefined {
  const delegated = delegationWish(text);
  if (delegated !== undefined) return { tools: delegationTools, begin: () => delegation(delegated) };
  const command = backgroundWish(text);
  if (command !== undefined) return { tools: backgroundTools, begin: () => background(command) };
  if (tourWish(text)) return { tools: tourTools, begin: tour };
  const repairing = repairWish(text);
  return repairing && { tools: repairTools, begin: () => repair(repairing) };
}
