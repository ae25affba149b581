// The tools that come with Heddle: one file each beside this one, and one line each in the list.
import type { ToolDefinition } from "../tool.js";
import { applyPatch } from "./apply-patch.js";
import { clarify } from "./clarify.js";
import { deleteFile } from "./delete-file.js";
import { editFile } from "./edit-file.js";
import { informUser } from "./inform-user.js";
import { listDirectory } from "./list-directory.js";
import { moveFile } from "./move-file.js";
import { think } from "./think.js";
import { updateTodos } from "./update-todos.js";
import { workComplete } from "./work-complete.js";
import { writeFile } from "./write-file.js";

const everywhere: readonly ToolDefinition[] = [clarify, informUser, think, updateTodos, workComplete];
const inWorkspace: readonly ToolDefinition[] = [applyPatch, deleteFile, editFile, listDirectory, moveFile, writeFile];

/** What an agent is offered. Tools that work on files are left out where there is no workspace. */
export const builtinTools = ({ workspace }: { workspace: string | undefined }): ToolDefinition[] =>
  workspace === undefined ? [...everywhere] : [...everywhere, ...inWorkspace];
