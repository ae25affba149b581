// Which processes belong to a call: the one that was started, its process group and session, whatever descends from them, and
// whatever carries the call's mark in its environment or is in its control group, also after its parents are gone. Where there is
// no control group, a process that has cleared its environment, made a session of its own and lost its parent between two looks
// is not found; in a sandbox nothing is lost, for everything there ends with the sandbox.
import type { ControlGroup } from "./control-group.js";
import { entriesOf, markOf, type ProcessEntry, processTable, startOf } from "./process-table.js";

export { markName } from "./process-table.js";

export type LiveProcess = Pick<ProcessEntry, "pid" | "parent" | "group" | "bytes">;

/** Those who end many calls at once look together. */
const sharedForMs = 2;

/** The processes of one call, found anew with every look. Where there is no /proc only its process group is known. */
export class LiveProcesses {
  readonly #root: number;
  readonly #mark: string;
  readonly #known = new Map<number, string>();
  readonly #rootStartedAt: string | undefined;
  readonly #group: ControlGroup | undefined;
  readonly #groupHasAll: boolean;
  readonly #since = performance.now();

  /**
   * `hasAll`: it was in the group from the first, and nothing can leave it. Contract: the process that was started has not been waited
   * for yet, so that its pid is its own.
   */
  constructor(root: number, callMark: string, group?: ControlGroup, { hasAll = false } = {}) {
    this.#root = root;
    this.#group = group;
    this.#groupHasAll = hasAll;
    this.#mark = callMark;
    this.#rootStartedAt = startOf(root);
  }

  /**
   * Those that run, as they were about so long ago at most, and never from before the call began. None is none for good then: only
   * what runs can start others.
   */
  look(maxAgeMs = sharedForMs): readonly LiveProcess[] {
    const members = this.#group?.pids() ?? [];
    if (this.#groupHasAll) return entriesOf(members);
    const entries = this.#entries(maxAgeMs, members);
    if (entries.length === 0) return groupAlone(this.#root);
    // A pid is free again when its process, group and session are gone. Then it says nothing about whom it names.
    const isReused = entries.some(({ pid, startedAt }) => pid === this.#root && startedAt !== this.#rootStartedAt);
    const root = isReused ? undefined : this.#root;
    const own = new Set(members);
    for (const entry of entries) if (!own.has(entry.pid) && this.#isOwn(entry, root)) own.add(entry.pid);
    // Children of what was found. A parent may have a larger pid than its child: until nothing is added.
    for (let before = -1; before !== own.size; ) {
      before = own.size;
      for (const { pid, parent } of entries) if (own.has(parent)) own.add(pid);
    }
    const found = entries.filter(({ pid }) => own.has(pid));
    this.#known.clear();
    for (const { pid, startedAt } of found) this.#known.set(pid, startedAt);
    return found;
  }

  /** A table that does not have a member of the control group is too old. */
  #entries(maxAgeMs: number, members: readonly number[]): readonly ProcessEntry[] {
    const entries = processTable({ since: this.#since, maxAgeMs });
    if (members.length === 0) return entries;
    const pids = new Set(entries.map(({ pid }) => pid));
    return members.every((pid) => pids.has(pid)) ? entries : processTable({ since: performance.now(), maxAgeMs: 0 });
  }

  #isOwn(entry: ProcessEntry, root: number | undefined): boolean {
    const { pid, group, session, startedAt } = entry;
    if (pid === root || group === root || session === root) return true;
    return this.#known.get(pid) === startedAt || markOf(entry) === this.#mark;
  }
}

/** Without /proc: whether anything of the process group runs. */
function groupAlone(root: number): readonly LiveProcess[] {
  try {
    process.kill(-root, 0);
    return [{ pid: root, parent: 0, group: root, bytes: 0 }];
  } catch {
    return [];
  }
}
