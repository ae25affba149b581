// Where a program is that the server itself chooses to run. A search path may lead into the workspace (npx puts its
// `node_modules/.bin` first), and whoever can write there must not choose the program.
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, relative, sep } from "node:path";

/** The parts of the search path that lie outside the workspace. */
export const safePath = (path: string, workspace: string | undefined): string =>
  path
    .split(delimiter)
    .filter((directory) => isAbsolute(directory) && !isWithin(workspace, directory))
    .join(delimiter);

/** Absolute. Undefined where there is none. */
export function findProgram(name: string, path: string, workspace: string | undefined): string | undefined {
  return safePath(path, workspace)
    .split(delimiter)
    .map((directory) => join(directory, name))
    .find((file) => isProgram(file) && !isWithin(workspace, real(file)));
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function isWithin(workspace: string | undefined, path: string): boolean {
  if (workspace === undefined || workspace === sep) return false;
  const way = relative(real(workspace), real(path));
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
