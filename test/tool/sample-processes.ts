// Background processes for the suites over all tools: a journal in memory, and one process that is always there to be looked at.
import { tmpdir } from "node:os";
import { afterAll } from "vitest";
import type { CommandSettings } from "../../src/tool/command/commands.js";
import { prepareCommands } from "../../src/tool/command/commands.js";
import type { ProcessBeginning, ProcessEnding, ProcessJournal } from "../../src/tool/process/journal.js";
import { Processes } from "../../src/tool/process/processes.js";
import { KeptContext } from "./support.js";

export interface KeptProcess extends ProcessBeginning {
  readonly id: string;
  readonly endings: ProcessEnding[];
}

/** Keeps what it is told, by thread. */
export class KeptJournal implements ProcessJournal {
  readonly kept: KeptProcess[] = [];
  /** Called before a beginning is kept: what it throws is why it is not. */
  onBegin: (beginning: ProcessBeginning) => void | Promise<void> = () => {};
  /** Called before an end is kept. */
  onEnd: (ending: ProcessEnding) => void | Promise<void> = () => {};

  async begin(beginning: ProcessBeginning): Promise<string> {
    await this.onBegin(beginning);
    const id = `p${this.#count(beginning.threadId) + 1}`;
    this.kept.push({ ...beginning, id, endings: [] });
    return id;
  }

  async end(threadId: string, processId: string, ending: ProcessEnding): Promise<void> {
    await this.onEnd(ending);
    this.of(threadId, processId).endings.push(ending);
  }

  async begun(threadId: string): Promise<number> {
    return this.#count(threadId);
  }

  of(threadId: string, processId: string): KeptProcess {
    return this.kept.find((process) => process.threadId === threadId && process.id === processId)!;
  }

  #count(threadId: string): number {
    return this.kept.filter((process) => process.threadId === threadId).length;
  }
}

/** Names every process of the sample alike: one that has ended makes room for the next. */
class SampleJournal extends KeptJournal {
  override async begin(beginning: ProcessBeginning): Promise<string> {
    if (beginning.command !== sampleCommand) return super.begin(beginning);
    this.kept.push({ ...beginning, id: sampleId, endings: [] });
    return sampleId;
  }

  override async end(): Promise<void> {}
}

export const sampleId = "p900";
/** Ends by itself in the end, whatever becomes of the test. */
const sampleCommand = `echo one; echo two; exec sleep 8${process.pid % 1000}.75`;
const made: Processes[] = [];

const sampleThread = new KeptContext().threadId;

/** Suites that run tools in threads of their own find the sample all the same. */
class SampleProcesses extends Processes {
  override of() {
    return super.of(sampleThread);
  }

  override find(_threadId: string, id: string) {
    return super.find(sampleThread, id);
  }
}

export function sampleProcesses(settings: CommandSettings): Processes {
  const commands = prepareCommands(settings, undefined);
  const processes = new SampleProcesses({ commands, journal: new SampleJournal(), firstMomentsMs: 50 });
  made.push(processes);
  return processes;
}

/** Sees to it that the process of the sample runs in all of them. */
export async function startSample(): Promise<void> {
  const context = new KeptContext({ workspace: tmpdir() });
  for (const processes of made) {
    if (processes.of(sampleThread).some(isSampleRunning)) continue;
    await processes.endThread(sampleThread);
    await processes.start({ command: sampleCommand }, context);
  }
}

const isSampleRunning = ({ id, ending }: { id: string; ending: unknown }): boolean =>
  id === sampleId && ending === undefined;

afterAll(async () => {
  await Promise.all(made.splice(0).map((processes) => processes.close()));
});
