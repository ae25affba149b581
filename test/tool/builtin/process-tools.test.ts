// start_process, list_processes, read_process_output and stop_process: what they take, give and say.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { z } from "zod";
import { listProcesses } from "../../../src/tool/builtin/list-processes.js";
import { readProcessOutput } from "../../../src/tool/builtin/read-process-output.js";
import { startProcess } from "../../../src/tool/builtin/start-process.js";
import { stopProcess } from "../../../src/tool/builtin/stop-process.js";
import { checkInput } from "../../../src/tool/check-input.js";
import type { ToolDefinition } from "../../../src/tool/tool.js";
import { ways } from "../command/support.js";
import { nap, useProcesses } from "../process/support.js";

const use = useProcesses();

/** A thread with the four tools, as the loop would use them. */
async function open(options: Parameters<typeof use>[0]) {
  const used = await use(options);
  const { threadId } = used.context();
  const call =
    <Input extends z.ZodType, Output extends z.ZodType>(tool: ToolDefinition<Input, Output>) =>
    async (input: object = {}) => {
      const checked = checkInput(tool, JSON.stringify(input));
      if (!checked.ok) throw new Error(checked.message);
      const outcome = await tool.run(checked.input as z.output<Input>, used.context({ threadId }));
      return { ...outcome, toModel: tool.toModel!(outcome.result as z.output<Output>) };
    };
  return {
    ...used,
    threadId,
    start: call(startProcess(used.processes)),
    list: call(listProcesses(used.processes)),
    read: call(readProcessOutput(used.processes)),
    stop: call(stopProcess(used.processes)),
  };
}

const patient = 20_000;

describe.each(ways.filter(({ isHere }) => isHere))("$way", ({ sandbox }) => {
  test("a process is started, listed, read and stopped", async () => {
    const { start, list, read, stop, processes, threadId } = await open({ sandbox });
    const seconds = nap();
    const started = await start({ command: `echo one; echo two >&2; exec sleep ${seconds}`, description: "Sleeps" });
    expect(started).toMatchObject({
      summary: "Started process p1",
      isError: false,
      result: { processId: "p1", state: "running", summary: "" },
    });
    expect(started.result).toHaveProperty(sandbox === "none" ? "pid" : "state");
    expect(started.toModel).toMatch(/^Process p1 runs in the background\./);
    await vi.waitFor(() => expect(processes.of(threadId)[0]!.output.count).toBe(2), { timeout: 10_000 });

    const listed = await list();
    expect(listed).toMatchObject({
      summary: "1 process running",
      result: {
        running: 1,
        processes: [{ processId: "p1", description: "Sleeps", state: "running", lines: 2, bytes: 8 }],
      },
    });
    expect(listed.toModel).toMatch(
      /^1 process running\.\np1: echo one; .* \(Sleeps\): running for \S+ s; 2 lines printed$/,
    );

    const output = await read({ process_id: "p1" });
    expect(output).toMatchObject({ summary: "Read 2 lines from p1", result: { total: 2, dropped: 0, next: 2 } });
    expect(output.toModel).toMatch(
      /^p1 runs \(echo one; .*, for \S+ m?s\)\. It has printed 2 lines\.\n(?=[\s\S]*^\d\tone$)(?=[\s\S]*^\d \(stderr\)\ttwo$)[\s\S]*\nTo read what comes next, use after 2\.$/m,
    );

    const stopped = await stop({ process_id: "p1" });
    expect(stopped).toMatchObject({ summary: "Stopped p1", result: { processId: "p1" } });
    expect(stopped.toModel).toMatch(/^Process p1 is over: Stopped echo one; /);
    await expect(stop({ process_id: "p1" })).rejects.toMatchObject({
      message: expect.stringMatching(/^Already ended: /),
    });
    expect((await list()).summary).toBe("0 processes running");
    expect((await list({ include_ended: false })).result.processes).toEqual([]);
    expect((await read({ process_id: "p1" })).toModel).toMatch(/^p1 is over: Stopped .*\. It has printed 2 lines\./);
  });

  test("a command that is not there is a failed call", async () => {
    const { start, journal } = await open({ sandbox, firstMomentsMs: patient });
    const failed = await start({ command: "no-such-program-here --now" });
    expect(failed).toMatchObject({ summary: "Command not found", isError: true, exitCode: 127 });
    expect(failed.toModel).toMatch(
      /^Process p1 is over already: .* exited with code 127 .* choose one that is installed\.\nIt printed:\n1 \(stderr\)\t.*not found/,
    );
    expect(journal.kept[0]!.endings).toMatchObject([{ outcome: "exited", exitCode: 127 }]);
  });

  test("so is one that fails at once; one that is done at once is not", async () => {
    const { start } = await open({ sandbox, firstMomentsMs: patient });
    const failed = await start({ command: "echo broken; exit 4" });
    expect(failed).toMatchObject({ isError: true, exitCode: 4, result: { state: "exited", exitCode: 4 } });
    expect(failed.summary).toMatch(/^echo broken; exit 4 exited with code 4 after \S+ m?s$/);
    expect(await start({ command: "echo fine" })).toMatchObject({
      isError: false,
      exitCode: 0,
      summary: "Started process p2",
      result: { state: "exited", lines: [{ line: 1, stream: "stdout", text: "fine" }] },
    });
  });
});

describe("read_process_output", () => {
  test("gives the last lines, goes on after a line, and says when nothing is new", async () => {
    const { start, read } = await open({ sandbox: "none", firstMomentsMs: patient });
    await start({ command: "seq 120" });
    const last = await read({ process_id: "p1" });
    expect(last.summary).toBe("Read 50 lines from p1");
    expect(last.result.lines.map(({ text }) => text)).toEqual(
      Array.from({ length: 50 }, (_, index) => String(71 + index)),
    );
    const first = await read({ process_id: "p1", after: 0, lines: 2 });
    expect(first.result).toMatchObject({ next: 2, total: 120, lines: [{ line: 1 }, { line: 2 }] });
    expect(first.toModel).toMatch(/\n118 lines follow: go on with after 2\.$/);
    const none = await read({ process_id: "p1", after: 120 });
    expect(none).toMatchObject({ summary: "Read 0 lines from p1", result: { lines: [], next: 120 } });
    expect(none.toModel).toMatch(/\nThere is nothing to read\.$/);
    expect((await read({ process_id: "p1", after: 9_999 })).result).toMatchObject({ next: 120 });
  });

  test("says how many lines are gone", async () => {
    const { start, read } = await open({ sandbox: "none", firstMomentsMs: patient });
    await start({ command: "seq 200000" });
    const { result, toModel } = await read({ process_id: "p1", after: 10, lines: 1 });
    const { line } = result.lines[0]!;
    expect(result).toMatchObject({ dropped: line - 11, total: 200_000, next: line });
    expect(toModel).toContain(`${line - 11} lines before these were dropped.`);
  });

  test("gives no more than a model can read, and where to go on", async () => {
    const { start, read } = await open({ sandbox: "none", firstMomentsMs: patient });
    await start({ command: `i=0; while [ $i -lt 40 ]; do printf '%05000d\\n' $i; i=$((i+1)); done` });
    const { result } = await read({ process_id: "p1", after: 0, lines: 1_000 });
    expect(result).toMatchObject({ total: 40, next: 6 });
    expect((await read({ process_id: "p1", lines: 1_000 })).result.lines.at(-1)).toMatchObject({ line: 40 });
  });

  test("shows a line that has no end yet, and again when it has", async () => {
    const { start, read, place, processes, threadId } = await open({ sandbox: "none" });
    await start({ command: "printf 'Name: '; while [ ! -e go ]; do sleep 0.02; done; echo nobody; sleep 300" });
    const begun = await read({ process_id: "p1", after: 0 });
    expect(begun).toMatchObject({
      summary: "Read 0 lines from p1",
      result: { lines: [], unfinished: [{ stream: "stdout", text: "Name: " }], next: 0 },
    });
    expect(begun.toModel).toContain("(unfinished)\tName: ");
    await writeFile(join(place, "go"), "");
    await vi.waitFor(() => expect(processes.of(threadId)[0]!.output.count).toBe(1), { timeout: 10_000 });
    expect((await read({ process_id: "p1", after: 0 })).result).toMatchObject({
      lines: [{ line: 1, text: "Name: nobody" }],
      unfinished: [],
    });
  });

  test("fails where there is no such process, with those that there are", async () => {
    const { start, read, stop } = await open({ sandbox: "none", firstMomentsMs: patient });
    await expect(read({ process_id: "p3" })).rejects.toMatchObject({
      name: "ToolFailure",
      message: "No such process: p3; none was started in this thread",
    });
    await start({ command: "true" });
    await start({ command: "true" });
    await expect(read({ process_id: "p3" })).rejects.toMatchObject({
      message: "No such process: p3; the processes are p1, p2",
    });
    await expect(stop({ process_id: "3" })).rejects.toMatchObject({
      message: expect.stringMatching(/^No such process: 3;/),
    });
  });
});

describe("words", () => {
  test("say what is about to happen, and ask where it matters", async () => {
    const { processes } = await use({ sandbox: "none" });
    const start = startProcess(processes);
    expect(start.describe({ command: "npm run dev" })).toBe("Starting npm run dev in the background");
    expect(start).toMatchObject({ policy: "ask", kind: "execute" });
    expect(start.isolation).toBe(
      "none: agent.commands.sandbox is none; commands run with the server's own rights; ended with the server, unless they hide from it",
    );
    expect(stopProcess(processes)).toMatchObject({ policy: "allow", kind: "execute" });
    expect(stopProcess(processes).describe({ process_id: "p3" })).toBe("Stopping p3");
    expect(listProcesses(processes).describe({ include_ended: true })).toBe("Listing processes");
    expect(readProcessOutput(processes).describe({ process_id: "p3", lines: 50 })).toBe("Reading output of p3");
  });

  test("show exactly what would run", async () => {
    const { processes } = await use({ sandbox: "none" });
    const preview = await startProcess(processes).preview!(
      { command: "npm run dev\u202e\nTime: never" },
      { signal: new AbortController().signal, workspace: "/" },
    );
    expect(preview!.data.split("\n").slice(1)).toEqual([
      "Time: until it ends or is stopped, its thread is deleted or the server stops",
      "Command, run by /bin/sh in the workspace:",
      "  npm run dev\\u{202e}",
      "  Time: never",
      "",
    ]);
  });
});
