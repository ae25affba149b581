// Commands that a message tells a person to type next: with the flags that they need to find the same place.
import { programName } from "./program-name.js";

export interface Where {
  readonly server?: string | undefined;
  readonly data?: string | undefined;
}

/** `url` is the server that is known to run, for a command that must see things happen. */
export function commandLine(command: string, { server, data }: Where, url?: string): string {
  const live = data === undefined ? server : (url ?? server);
  if (live !== undefined) return `${programName} ${command} --server ${live}`;
  return data === undefined ? `${programName} ${command}` : `${programName} ${command} --data ${quoted(data)}`;
}

const quoted = (path: string): string => (/^[\w./~+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
