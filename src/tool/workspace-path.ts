// Paths that a model names, held inside the workspace: neither `..`, nor an absolute path, nor a symbolic link leads out.
import { realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { ToolFailure } from "./tool.js";
import { oneLine } from "./words.js";

export interface WorkspacePath {
  /** Absolute, without symbolic links. */
  readonly absolute: string;
  /** From the workspace, with `/` between the parts. The workspace itself is `.`. */
  readonly relative: string;
}

/**
 * Where the path leads. Throws a ToolFailure when that is outside, and the file system's own error when there is nothing.
 * Contract: says where the path led at this moment; whoever can change links in the workspace can change it afterwards.
 */
export async function insideWorkspace(workspace: string | undefined, path: string): Promise<WorkspacePath> {
  if (workspace === undefined) throw new ToolFailure("There is no workspace; go on without files", { code: "ENOENT" });
  if (path.includes("\0")) throw new ToolFailure("Not a path: it holds a NUL character", { code: "EINVAL" });
  const root = await realpath(workspace).catch((cause: NodeJS.ErrnoException) => {
    throw new ToolFailure("The workspace cannot be reached; go on without files", { code: cause.code ?? "", cause });
  });
  const asked = resolve(workspace, path);
  // Before the file system is asked: what is outside must not even be found out about.
  if (!isWithin(resolve(workspace), asked) && !isWithin(root, asked)) throw outside(path);
  const absolute = await realpath(asked);
  if (!isWithin(root, absolute)) throw outside(path);
  return { absolute, relative: relative(root, absolute).split(sep).join("/") || "." };
}

function isWithin(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

const outside = (path: string): ToolFailure =>
  new ToolFailure(`Outside the workspace: ${oneLine(path)}; give a path inside it`, { code: "EACCES" });
