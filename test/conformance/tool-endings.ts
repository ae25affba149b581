// A call that is called off ends soon, whenever that is, and leaves nothing behind: no child, no descriptor, no half of a change.
import { afterEach, describe, expect, test, vi } from "vitest";
import { defaultConfig } from "../../src/config.js";
import type { ToolDefinition } from "../../src/tool/tool.js";
import { canSeeLeftovers, leavesNothing, processesWith } from "../support/left-behind.js";
import { KeptContext } from "../tool/support.js";
import { checkedInput, type Endless, type ToolUnderTest, workspaceFor } from "./tool.js";

/** After it the loop goes on without the tool. */
const graceMs = defaultConfig.agent.stopGraceMs;
const calledOff = new DOMException("called off", "AbortError");

export function endingSuite(under: ToolUnderTest): void {
  const { tool, endless } = under;
  /** What the workspace is like when all of it is done. Found out once: some tools take their time to start. */
  let done: Promise<string> | undefined;
  const whenDone = () => {
    done ??= (async () => {
      await using workspace = await workspaceFor(under);
      await tool.run(checkedInput(under), new KeptContext({ workspace: workspace.path }));
      return workspace.fingerprint();
    })();
    return done;
  };

  test("leaves no child process and no descriptor when it succeeds", async () => {
    await using workspace = await workspaceFor(under);
    const run = () => tool.run(checkedInput(under), new KeptContext({ workspace: workspace.path }));
    // What a process sets up once, at the first use, is not what a call leaves behind.
    await run().catch(() => {});
    await using fresh = await workspaceFor(under);
    await leavesNothing(() => tool.run(checkedInput(under), new KeptContext({ workspace: fresh.path })));
  });

  test("changes nothing when it is called off before it begins", async () => {
    await using workspace = await workspaceFor(under);
    const before = workspace.fingerprint();
    const context = new KeptContext({ workspace: workspace.path, signal: AbortSignal.abort(calledOff) });
    await leavesNothing(() => settled(tool.run(checkedInput(under), context)));
    expect(workspace.fingerprint()).toBe(before);
  });

  test.each([1, 2, 3, 5, 8, 13, 21])(
    "ends in time when it is called off after %d turns, and has done all of it or nothing",
    async (turns) => {
      await using workspace = await workspaceFor(under);
      const before = workspace.fingerprint();
      await leavesNothing(async () => {
        const caller = new AbortController();
        const context = new KeptContext({ workspace: workspace.path, signal: caller.signal });
        const running = tool.run(checkedInput(under), context);
        running.catch(() => {});
        for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
        caller.abort(calledOff);
        await settled(running);
      });
      expect([before, await whenDone()]).toContain(workspace.fingerprint());
    },
  );

  if (endless) endlessSuite(tool, endless);
}

function endlessSuite(tool: ToolDefinition, endless: Endless): void {
  const { mark } = endless;
  describe("a call that does not end by itself", () => {
    afterEach(() => {
      if (mark !== undefined && canSeeLeftovers) expect(processesWith(mark)).toEqual([]);
    });

    test("ends in time when it is called off in the middle", async () => {
      await using workspace = await workspaceFor(endless);
      await leavesNothing(async () => {
        const caller = new AbortController();
        const context = new BusyContext({ workspace: workspace.path, signal: caller.signal });
        const running = tool.run(checkedInput({ tool, input: endless.input }), context);
        running.catch(() => {});
        await (endless.begun?.() ?? Promise.race([context.isBusy, ended(running)]));
        caller.abort(calledOff);
        await settled(running);
        if (mark !== undefined && canSeeLeftovers)
          await vi.waitFor(() => expect(processesWith(mark)).toEqual([]), { timeout: graceMs });
      });
    });
  });
}

/** Says when the tool has reported for the first time. */
class BusyContext extends KeptContext {
  #report: () => void = () => {};
  readonly isBusy = new Promise<void>((resolve) => {
    this.#report = resolve;
  });

  override progress(completed: number, total?: number): void {
    super.progress(completed, total);
    this.#report();
  }

  override phase(): void {
    this.#report();
  }

  override output(stream: "stdout" | "stderr", text: string): void {
    super.output(stream, text);
    this.#report();
  }
}

/** A call that should go on for ever has come to an end: what it says is why. */
async function ended(running: Promise<unknown>): Promise<never> {
  const outcome = await running;
  throw new Error(`it ended by itself: ${JSON.stringify(outcome).slice(0, 500)}`);
}

/** Resolves once the call is over, however it ends. Fails where the loop would not have waited so long. */
async function settled(running: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it is still at work ${graceMs} ms after it was called off`)), graceMs);
  });
  try {
    await Promise.race([running.then(nothing, nothing), late]);
  } finally {
    clearTimeout(timer);
  }
}

const nothing = (): void => {};
