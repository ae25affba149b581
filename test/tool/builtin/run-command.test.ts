import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../../src/tool/builtin/run-command.js";
import { outputLimits } from "../../../src/tool/command/kept-output.js";
import { CallContext, prepared, ways, workplace } from "../command/support.js";

describe.each(ways.filter(({ isHere }) => isHere))("run_command $way", ({ sandbox }) => {
  const tool = runCommand(prepared({ sandbox }));
  let place: Awaited<ReturnType<typeof workplace>>;
  beforeAll(async () => {
    place = await workplace();
  });
  afterAll(() => place[Symbol.asyncDispose]());

  const contextOf = (signal?: AbortSignal) => new CallContext({ workspace: place.path, ...(signal && { signal }) });
  async function run(command: string, options: { timeout_seconds?: number } = {}, context = contextOf()) {
    const outcome = await tool.run({ command, ...options }, context);
    expect(context.alive()).toBe(0);
    return { ...outcome, context, toModel: tool.toModel!(outcome.result) };
  }

  test("runs a line of shell in the workspace", async () => {
    const { result, summary, isError, exitCode, content, context, toModel } = await run("pwd && echo oops >&2");
    expect(result).toMatchObject({ exitCode: 0, ended: "exited", stdout: `${place.path}\n`, stderr: "oops\n" });
    expect(summary).toMatch(/^Ran pwd && echo oops >&2 \(exit code 0, \d+(?:\.\d)? m?s\)$/);
    expect({ isError, exitCode }).toEqual({ isError: false, exitCode: 0 });
    expect(context.printed).toEqual({ stdout: `${place.path}\n`, stderr: "oops\n" });
    expect(content).toEqual([
      { id: "stdout", mediaType: "text/plain", data: `${place.path}\n` },
      { id: "stderr", mediaType: "text/plain", data: "oops\n" },
    ]);
    expect(toModel).toMatch(/^The command ended: exit code 0 \(it took \S+ m?s\)\.\nstdout:\n.*\nstderr:\noops$/);
  });

  test("fails with the command's exit code, and the model reads what it printed", async () => {
    const { summary, isError, exitCode, toModel } = await run("echo broken; exit 2");
    expect(summary).toMatch(/^Ran echo broken; exit 2 \(exit code 2, \S+ m?s\)$/);
    expect({ isError, exitCode }).toEqual({ isError: true, exitCode: 2 });
    expect(toModel).toContain("exit code 2");
    expect(toModel).toContain("broken");
  });

  test("says when it printed nothing", async () => {
    expect((await run("true")).toModel).toMatch(/It printed nothing\.$/);
  });

  test("ends a command whose time is up, with what it has printed", async () => {
    const { summary, isError, result, exitCode, toModel } = await run("echo begun; sleep 1000", { timeout_seconds: 1 });
    expect(summary).toBe("Ran echo begun; sleep 1000 (timed out after 1 s)");
    expect({ isError, exitCode, ended: result.ended }).toEqual({ isError: true, ended: "timed_out" });
    expect(toModel).toContain("timed out after 1 s");
    expect(toModel).toContain("begun");
  });

  test.each([
    ["asked", "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done", "ready\nbye\n"],
    ["killed", "trap '' TERM; setsid sleep 1000 & echo ready; while :; do sleep 0.05; done", "ready\n"],
  ])("ends when it is called off: %s", async (_, command, stdout) => {
    const caller = new AbortController();
    const context = contextOf(caller.signal);
    context.onOutput = () => caller.abort();
    const { result, summary, exitCode } = await run(command, {}, context);
    expect(result).toMatchObject({ ended: "called_off", stdout, leftBehind: 0 });
    expect(summary).toMatch(/\(called off\)$/);
    expect(exitCode).toBeUndefined();
  });

  test("does not begin when it is called off already", async () => {
    const reason = new Error("called off");
    const context = contextOf(AbortSignal.abort(reason));
    await expect(run("echo never", {}, context)).rejects.toBe(reason);
    expect(context.outputs).toEqual([]);
  });

  test.each([
    ["in the background", "sleep 1000 & echo left"],
    ["in a session of its own", "setsid -f sleep 1000; echo left"],
    ["that holds no output", "setsid -f sleep 1000 >/dev/null 2>&1; echo left"],
    // Without a sandbox it is its group by which it is found.
    ["that has cleared its environment", "env -i sleep 1000 & echo left"],
  ])("leaves nothing behind %s", async (_, command) => {
    expect((await run(command)).result).toMatchObject({ exitCode: 0, stdout: "left\n", leftBehind: 0 });
  });

  test("a storm of processes is ended, and all are gone", async () => {
    const command = "i=0; while [ $i -lt 2000 ]; do sleep 1000 & i=$((i+1)); done; wait";
    const { summary, isError, result } = await run(command);
    expect(result).toMatchObject({ ended: "too_many_processes", leftBehind: 0 });
    expect(summary).toMatch(/ \(killed: more than 512 processes\)$/);
    expect(isError).toBe(true);
  }, 60_000);

  test("processes that double are ended, and all are gone", async () => {
    // Twice as many as are let, and no more, whatever becomes of it.
    const double = "[ $1 -gt 0 ] && { sh double.sh $(($1-1)) & sh double.sh $(($1-1)) & }; sleep 1000\n";
    await writeFile(join(place.path, "double.sh"), double);
    const { result } = await run("sh double.sh 9");
    expect(result).toMatchObject({ ended: "too_many_processes", leftBehind: 0 });
  }, 60_000);

  test("much output is read to its end: the model gets the tail, the record the beginning", async () => {
    const { result, content, context, toModel } = await run("seq 5000000; echo the end", { timeout_seconds: 120 });
    expect(result.stdoutBytes).toBe(38_888_904);
    expect(result.stdout).toMatch(/^\[\d+ bytes before this were left out\]\n49\d{5}\n/);
    expect(result.stdout.endsWith("\n5000000\nthe end\n")).toBe(true);
    expect(toModel.length).toBeLessThan(60_000);
    expect(content![0]!.data).toMatch(/^1\n2\n3\n/);
    expect(content![0]!.data.length).toBeLessThan(outputLimits.wholeBytes + 100);
    expect(context.printed.stdout.length).toBeLessThan(outputLimits.wholeBytes + 100);
  }, 120_000);

  test("an interactive prompt finds nobody", async () => {
    const { result } = await run("read -r answer; echo answer=$answer; (: </dev/tty) 2>/dev/null || echo no terminal");
    expect(result.stdout).toBe("answer=\nno terminal\n");
  });

  test("fails where there is no workspace, or it is gone", async () => {
    await expect(tool.run({ command: "true" }, new CallContext())).rejects.toMatchObject({ code: "ENOENT" });
    const gone = new CallContext({ workspace: join(place.path, "gone") });
    await expect(tool.run({ command: "true" }, gone)).rejects.toMatchObject({
      name: "ToolFailure",
      message: "The workspace cannot be reached; go on without commands",
    });
  });

  test("does not give keys of the server away", async () => {
    const environment = { ...process.env, OPENAI_API_KEY: "canary", HEDDLE_TOKEN: "canary", MY_TOKEN: "canary" };
    const careful = runCommand(prepared({ sandbox, environment }));
    const { result } = await careful.run({ command: "env" }, contextOf());
    expect(result.stdout).toContain("PAGER=cat");
    expect(result.stdout).not.toContain("canary");
  });
});

describe("run_command", () => {
  const tool = runCommand(prepared({ sandbox: "none" }));
  const preview = (command: string) =>
    tool.preview!({ command }, { signal: new AbortController().signal, workspace: "/" });

  test.each([
    ["npm test", "Running npm test"],
    ["  echo a\n\techo b ", "Running echo a echo b"],
    ["echo \u001b[31mred\u202e", "Running echo red"],
    [`deploy ${"a".repeat(300)} --now`, "Running deploy …"],
    ["a".repeat(300), "Running a command"],
  ])("says of %j what is about to happen", (command, words) => {
    expect(tool.describe({ command })).toBe(words);
  });

  test("shows exactly what would run, and how it is held in", async () => {
    expect(await preview("npm test\r\u001b[2K\u202e\u200b\u00a0rm -rf .\nIsolation: a cage")).toEqual({
      mediaType: "text/plain",
      data: [
        "Isolation: none: agent.commands.sandbox is none; commands run with the server's own rights",
        "Time: at most 60 s",
        "Command, run by /bin/sh in the workspace:",
        "  npm test\\u{d}\\u{1b}[2K\\u{202e}\\u{200b}\\u{a0}rm -rf .",
        "  Isolation: a cage",
        "",
      ].join("\n"),
    });
  });

  test("asks, and its own limit leaves room for the command's", () => {
    expect(tool).toMatchObject({ policy: "ask", kind: "execute", timeoutMs: 605_000 });
    expect(tool.isolation).toMatch(/^none: /);
  });
});
