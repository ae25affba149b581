// Carries out changes of several files: all of them, or none. What was done is put back when something fails or the call is called
// off in the middle; directories that were made on the way stay. Each file is whole at any moment, but a crash of the machine can
// leave some done and others not: the recorded call then says what was meant.
import { randomBytes } from "node:crypto";
import { posix } from "node:path";
import { ToolFailure } from "../tool.js";
import type { Workspace } from "../workspace/workspace.js";
import { named } from "./text-change.js";

export type Step =
  | { readonly kind: "create"; readonly path: string; readonly text: string; readonly isExecutable: boolean }
  | { readonly kind: "write"; readonly path: string; readonly text: string; readonly before: string }
  | { readonly kind: "remove"; readonly path: string }
  | {
      readonly kind: "rename";
      readonly path: string;
      readonly to: string;
      readonly text: string;
      readonly before: string;
    };

export async function carryOut(workspace: Workspace, steps: readonly Step[], signal: AbortSignal): Promise<void> {
  const work = new Work(workspace);
  try {
    for (const step of steps) {
      signal.throwIfAborted();
      await work.do(step);
    }
    signal.throwIfAborted();
  } catch (reason) {
    throw withRest(reason, await work.putBack());
  }
  await work.finish();
}

interface Undo {
  readonly path: string;
  run(): Promise<unknown>;
}

class Work {
  readonly #workspace: Workspace;
  readonly #undos: Undo[] = [];
  /** Removed files wait under another name until all else is done: they can be put back as they were. */
  readonly #aside: { readonly path: string; readonly from: string }[] = [];

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  async do(step: Step): Promise<void> {
    switch (step.kind) {
      case "create": {
        const { path, text, isExecutable } = step;
        await this.#workspace.writeFile(path, text, { makeParents: true, expect: "new", isExecutable });
        this.#undos.push({ path, run: () => this.#workspace.removeFile(path) });
        return;
      }
      case "write":
        return this.#write(step.path, step);
      case "remove": {
        const aside = besides(this.#workspace.locate(step.path).relative);
        await this.#move(step.path, aside);
        this.#aside.push({ path: aside, from: step.path });
        return;
      }
      case "rename":
        await this.#move(step.path, step.to);
        return this.#write(step.to, step);
    }
  }

  async finish(): Promise<void> {
    for (const { path, from } of this.#aside) {
      await this.#workspace.removeFile(path).catch((cause) => {
        const words = `Everything was changed, but ${named(from)} is left over as ${path}; delete that file`;
        throw new ToolFailure(words, { code: "EIO", cause });
      });
    }
  }

  /** The last first. Gives the paths that could not be put back. */
  async putBack(): Promise<string[]> {
    const left: string[] = [];
    for (const { path, run } of this.#undos.splice(0).reverse()) await run().catch(() => left.push(path));
    return left;
  }

  async #write(path: string, { text, before }: { text: string; before: string }): Promise<void> {
    if (text === before) return;
    await this.#workspace.writeFile(path, text, { expect: "existing" });
    this.#undos.push({ path, run: () => this.#workspace.writeFile(path, before, { expect: "existing" }) });
  }

  async #move(from: string, to: string): Promise<void> {
    await this.#workspace.moveFile(from, to, { makeParents: true });
    this.#undos.push({ path: from, run: () => this.#workspace.moveFile(to, from) });
  }
}

const besides = (path: string): string =>
  posix.join(posix.dirname(path), `.heddle-${randomBytes(9).toString("hex")}.tmp`);

function withRest(reason: unknown, left: readonly string[]): unknown {
  if (left.length > 0)
    return new ToolFailure(
      `${wordsOf(reason)}; could not put back ${left.map(named).join(", ")}: look at them before you go on`,
      { code: "EIO", cause: reason },
    );
  // A signal's reason goes on as it is.
  if (!(reason instanceof ToolFailure)) return reason;
  return new ToolFailure(`${reason.message}; nothing was changed`, { code: reason.code, cause: reason });
}

const wordsOf = (reason: unknown): string => (reason instanceof Error ? reason.message : "It failed");
