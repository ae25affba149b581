// The tools that come with Heddle: one file each beside this one, and one line each in the list.
import type { ToolDefinition } from "../tool.js";
import { clarify } from "./clarify.js";
import { informUser } from "./inform-user.js";
import { listDirectory } from "./list-directory.js";
import { think } from "./think.js";
import { workComplete } from "./work-complete.js";

const everywhere: readonly ToolDefinition[] = [clarify, informUser, think, workComplete];
const inWorkspace: readonly ToolDefinition[] = [listDirectory];

/** What an agent is offered. Tools that work on files are left out where there is no workspace. */
export const builtinTools = ({ workspace }: { workspace: string | undefined }): ToolDefinition[] =>
  workspace === undefined ? [...everywhere] : [...everywhere, ...inWorkspace];
