// heddle run against a scripted server: what it asks for, what it shows, and how it ends.

import type { ServiceImpl } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ThreadHolder_Kind, ThreadHolderSchema } from "../../gen/heddle/v1/error_pb.js";
import { RunOutcome, type StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import type { SendMessageRequest, ThreadService } from "../../gen/heddle/v1/thread_service_pb.js";
import { heddleError } from "../../src/client/resumable.js";
import { newEvent } from "../../src/thread/event.js";
import {
  message,
  named,
  over,
  prints,
  ready,
  runEnd,
  runId,
  running,
  said,
  says,
  speaks,
  started,
  thinks,
  threadId,
  writes,
} from "./live-view-support.js";
import { type FakeIo, fakeIo, fakeServer, heddle } from "./support.js";
import { TinyTerminal } from "./tiny-terminal.js";

type Threads = Partial<ServiceImpl<typeof ThreadService>>;

const script = [
  started(),
  thinks("r", "hm"),
  message("m"),
  says("m", "Let me look.\nIt takes "),
  says("m", "a moment."),
  named("c", "List a folder"),
  said("m"),
  ready("c", "Listing ."),
  running("c", "Listing ."),
  prints("c", "README.md\n"),
  over("c", "Listed 12 entries"),
  named("s", "Tell the user"),
  speaks("s", "Twelve "),
  speaks("s", "entries."),
  ready("s", "Telling the user"),
  running("s", "Telling the user"),
  over("s", "Told the user"),
];

/** A server whose run gives these events; they begin after `head`. */
function serving(
  events: readonly StreamThreadEventsResponse[],
  { head = 0, ...more }: Threads & { head?: number } = {},
) {
  const sent: SendMessageRequest[] = [];
  const titles: string[] = [];
  const stored = events.map((event, index) =>
    newEvent({ ...event, sequence: BigInt(head + index + 1), runId: event.runId || runId }),
  );
  const server = fakeServer({
    createThread: ({ title }) => {
      titles.push(title);
      return { thread: { id: threadId, headSequence: BigInt(head) } };
    },
    getThread: () => ({ thread: { id: threadId, headSequence: BigInt(head) } }),
    sendMessage: (request) => {
      sent.push(request);
      return { runId };
    },
    async *streamThreadEvents({ afterSequence }) {
      yield newEvent({ threadId, payload: { case: "ready", value: {} } });
      yield* stored.filter(({ sequence }) => sequence > afterSequence);
      await new Promise(() => {}); // The thread goes on living: the command must see the end by itself.
    },
    ...more,
  });
  return { sent, titles, stored, server };
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

const heddleRun = (args: readonly string[], io: FakeIo = fakeIo()) => heddle(["run", ...args], io);

describe("in a pipe", () => {
  test("prints one line a step in the words of follow, and what the agent says whole", async () => {
    const { server } = serving([...script, runEnd()]);
    await using url = await server;
    const { code, stdout, stderr } = await heddleRun(["What is here?", "--server", url.url]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.split("\n").map((line) => line.replace(/^[-\d: .]+\d {2}(?=\S)/, "… "));
    expect(lines).toEqual([
      `… ▶ run         started, demo:demo, thread ${threadId}`,
      "Let me look.",
      "It takes a moment.",
      "… ○ named       List a folder c",
      "… ◌ input       List a folder: Listing . (0 bytes)",
      "… ● started     List a folder: Listing .",
      "… ✓ succeeded   List a folder: Listed 12 entries (8 ms)",
      "    README.md",
      "… ○ named       Tell the user s",
      "Twelve entries.",
      "… ◌ input       Tell the user: Telling the user (0 bytes)",
      "… ● started     Tell the user: Telling the user",
      "… ✓ succeeded   Tell the user: Told the user (8 ms)",
      "… ✓ run         succeeded, 512 tokens in, 80 out",
      "",
    ]);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: there must be none.
    expect(stdout).not.toMatch(/\u001b/);
  });

  test("the answers that a question offers stand below it", async () => {
    const asks = [
      named("c", "Ask the user", { toolName: "clarify" }),
      writes("c", '{"question":"Which one?","options":["blue",'),
      speaks("c", "Which one?"),
      writes("c", '"red"]}'),
      ready("c", "Asking you a question"),
    ];
    const { server } = serving([started(), ...asks, runEnd()]);
    await using url = await server;
    const { stdout } = await heddleRun(["x", "--server", url.url]);
    expect(stdout).toMatch(/ named .*\nWhich one\?\n- blue\n- red\n.* input +Ask the user: /);
  });

  test("of what a call prints the end is shown, and how to see the rest", async () => {
    const text = Array.from({ length: 8 }, (_, index) => `line ${index}\n`).join("");
    const call = [named("c", "Run"), running("c", "Running"), prints("c", text), over("c", "Ran")];
    const { server } = serving([started(), ...call, runEnd()]);
    await using url = await server;
    const { stdout } = await heddleRun(["x", "--server", url.url]);
    expect(stdout.split("\n").filter((line) => line.startsWith("    "))).toEqual([
      `    … the end of its output; all of it: heddle follow ${threadId} --json --server ${url.url}`,
      ...[3, 4, 5, 6, 7].map((index) => `    line ${index}`),
    ]);
  });

  test("--json prints the run's events as follow does, and nothing else", async () => {
    const { server, stored } = serving([...script, runEnd()]);
    await using url = await server;
    const { stdout } = await heddleRun(["What is here?", "--json", "--server", url.url], fakeIo({ isTTY: true }));
    const io = fakeIo();
    io.stdout.onWrite = (line) => line.includes("runCompleted") && queueMicrotask(() => io.signal("SIGINT"));
    const followed = await heddle(["follow", threadId, "--json", "--server", url.url], io);
    expect(stdout.split("\n")).toHaveLength(stored.length + 1);
    expect(stdout).toBe(followed.stdout);
  });
});

describe("on a terminal", () => {
  test("draws the live view and leaves its text", async () => {
    const { server } = serving([...script, runEnd()]);
    await using url = await server;
    const io = fakeIo({ isTTY: true, columns: 80, rows: 24 });
    const terminal = new TinyTerminal(80, 24);
    io.stdout.onWrite = (data) => terminal.write(data);
    expect((await heddleRun(["What is here?", "--server", url.url], io)).code).toBe(0);
    expect(terminal.text).toEqual([
      "▶ demo:demo",
      `  thread ${threadId}`,
      "",
      "hm",
      "",
      "Let me look.",
      "It takes a moment.",
      "",
      "✓ List a folder: Listed 12 entries  8 ms",
      "    README.md",
      "",
      "Twelve entries.",
      "",
      "✓ succeeded  2.1 s, 512 tokens in, 80 out",
    ]);
    expect(terminal.isCursorVisible).toBe(true);
    expect(io.exitListeners.size).toBe(0);
  });

  test("a dumb one gets plain lines", async () => {
    const { server } = serving([started(), runEnd()]);
    await using url = await server;
    const { stdout } = await heddleRun(["x", "--server", url.url], fakeIo({ isTTY: true, env: { TERM: "dumb" } }));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: there must be none.
    expect(stdout).not.toMatch(/\u001b/);
    expect(stdout.trim().split("\n")).toHaveLength(2);
  });
});

describe("what it asks for", () => {
  test("a new thread with the prompt's beginning as its title, and the options that were given", async () => {
    const { server, sent, titles } = serving([runEnd()]);
    await using url = await server;
    const prompt = `Look\nat ${"everything ".repeat(20)}`;
    const flags = ["--model", "openai:x", "--instructions", "Be brief", "--no-parallel", "--max-steps", "3"];
    await heddleRun([prompt, ...flags, "--server", url.url]);
    await heddleRun(["again", "--server", url.url]);
    expect(titles[0]).toMatch(/^Look at everything .*…$/);
    expect(titles[0]!.length).toBeLessThanOrEqual(80);
    expect(sent[0]).toMatchObject({
      threadId,
      text: prompt,
      options: { model: "openai:x", instructions: "Be brief", parallelToolCalls: false, maxSteps: 3 },
    });
    expect(sent[1]!.options).toMatchObject({ model: "", instructions: "", maxSteps: 0 });
    expect(sent[1]!.options?.parallelToolCalls).toBeUndefined();
    expect(sent[0]!.requestId).not.toBe(sent[1]!.requestId);
  });

  test("with --thread, only what the new run brings is shown", async () => {
    const before = newEvent({ ...runEnd(), runId: "22222222-2222-4222-8222-222222222222" });
    const { server, titles } = serving([before, started(), runEnd()], { head: 40 });
    await using url = await server;
    const { code, stdout } = await heddleRun(["more", "--thread", threadId, "--json", "--server", url.url]);
    expect(code).toBe(0);
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).sequence),
    ).toEqual(["42", "43"]);
    expect(titles).toEqual([]);
  });

  test("the token of the flag or of the variable", async () => {
    const { server } = serving([runEnd()]);
    await using url = await server;
    await heddleRun(["x", "--server", url.url, "--token", "from-a-flag"]);
    await heddleRun(["x"], fakeIo({ env: { HEDDLE_SERVER: url.url, HEDDLE_TOKEN: "from-a-variable" } }));
    expect(new Set(url.authorizations)).toEqual(new Set(["Bearer from-a-flag", "Bearer from-a-variable"]));
  });
});

describe("ends", () => {
  test.each([
    [RunOutcome.SUCCEEDED, 0],
    [RunOutcome.FAILED, 1],
    [RunOutcome.INCOMPLETE, 1],
    [RunOutcome.INTERRUPTED, 1],
    [RunOutcome.CANCELLED, 130],
  ])("a run with outcome %d gives code %d, and the view has said it all", async (outcome, expected) => {
    const { server } = serving([started(), runEnd(outcome)]);
    await using url = await server;
    const { code, stderr } = await heddleRun(["x", "--server", url.url]);
    expect({ code, stderr }).toEqual({ code: expected, stderr: "" });
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("%s calls the run off, shows the rest, and gives %d", async (name, expected) => {
    const cancelled = deferred();
    const asked: unknown[] = [];
    const { server } = serving([], {
      cancelRun: ({ threadId: thread, runId: run }) => {
        asked.push({ thread, run });
        cancelled.resolve();
        return {};
      },
      async *streamThreadEvents() {
        yield newEvent({ threadId, payload: { case: "ready", value: {} } });
        yield newEvent({ ...started(), sequence: 1n });
        await cancelled.promise;
        yield newEvent({ ...runEnd(RunOutcome.CANCELLED), sequence: 2n });
      },
    });
    await using url = await server;
    const io = fakeIo();
    io.stdout.onWrite = (text) => text.includes("started") && io.signal(name);
    const { code, stdout, stderr } = await heddleRun(["x", "--server", url.url], io);
    expect(code).toBe(expected);
    expect(asked).toEqual([{ thread: threadId, run: runId }]);
    expect(stdout).toContain("cancelled");
    expect(stderr).toBe("heddle: calling the run off; Ctrl-C again leaves at once\n");
    expect(io.exits).toEqual([]);
  });

  test("a cancel that comes too late is nothing, one that fails is told", async () => {
    for (const [error, said] of [
      [heddleError(Code.NotFound, "RUN_NOT_FOUND", "there is no such run"), ""],
      [heddleError(Code.PermissionDenied, "PERMISSION_DENIED", "no"), "heddle: the run could not be called off: no."],
    ] as const) {
      const tried = deferred();
      const io = fakeIo();
      const { server } = serving([], {
        cancelRun: () => {
          queueMicrotask(tried.resolve);
          throw error;
        },
        async *streamThreadEvents() {
          yield newEvent({ threadId, payload: { case: "ready", value: {} } });
          yield newEvent({ ...started(), sequence: 1n });
          await tried.promise;
          if (said !== "") while (!io.stderr.text.includes(said)) await new Promise(setImmediate);
          yield newEvent({ ...runEnd(), sequence: 2n });
        },
      });
      await using url = await server;
      io.stdout.onWrite = (text) => text.includes("started") && io.signal("SIGINT");
      expect((await heddleRun(["x", "--server", url.url], io)).code).toBe(0);
      expect(io.stderr.text.split("\n")).toHaveLength(said === "" ? 2 : 3);
    }
  });

  test("an interruption before there is a run leaves at once", async () => {
    const io = fakeIo();
    const { server, sent } = serving([], {
      createThread: () => {
        io.signal("SIGINT");
        return new Promise(() => {});
      },
    });
    await using url = await server;
    expect(await heddleRun(["x", "--server", url.url], io)).toEqual({ code: 130, stdout: "", stderr: "" });
    expect(sent).toEqual([]);
  });

  test.each([
    [
      heddleError(Code.FailedPrecondition, "THREAD_BUSY", "the thread is busy with run 1"),
      1,
      "the thread is busy with run 1",
    ],
    [heddleError(Code.InvalidArgument, "MODEL_NOT_OFFERED", "openai:x is not offered"), 1, "openai:x is not offered"],
    [
      heddleError(Code.Unauthenticated, "UNAUTHENTICATED", "a token is required"),
      5,
      "a token is required (set HEDDLE_TOKEN, or give --token)",
    ],
  ])("%s gives %d", async (error, expected, text) => {
    const { server } = serving([], {
      sendMessage: () => {
        throw error;
      },
    });
    await using url = await server;
    expect(await heddleRun(["x", "--server", url.url])).toEqual({
      code: expected,
      stdout: "",
      stderr: `heddle: ${text}\n`,
    });
  });

  test("a model that the server does not offer names the flag, what is offered and what to do", async () => {
    const { server } = serving([], {
      sendMessage: () => {
        const message = 'The model "openai:x" is not offered here: leave it empty, or choose one of a:b, c:d';
        throw heddleError(Code.InvalidArgument, "MODEL_NOT_OFFERED", message);
      },
    });
    await using url = await server;
    expect(await heddleRun(["x", "--model", "openai:x", "--server", url.url])).toEqual({
      code: 2,
      stdout: "",
      stderr: `heddle: --model openai:x: the server at ${url.url} offers only a:b, c:d: start it with --model openai:x, list the model in its agent.models, or leave --model out\n`,
    });
  });

  test("a thread that is busy is told with who holds it and how to watch", async () => {
    const detail = { desc: ThreadHolderSchema, value: { kind: ThreadHolder_Kind.RUN, holderId: runId } };
    const { server } = serving([], {
      sendMessage: () => {
        throw new ConnectError("busy", Code.FailedPrecondition, undefined, [detail]);
      },
    });
    await using url = await server;
    const { code, stderr } = await heddleRun(["x", "--thread", threadId, "--server", url.url]);
    expect(code).toBe(1);
    const watch = `heddle follow ${threadId} --server ${url.url}`;
    const answer = `or answer what it waits for ("heddle approvals --server ${url.url}")`;
    expect(stderr).toBe(`heddle: the thread is busy with run ${runId}: wait, or watch it with ${watch}, ${answer}\n`);
  });

  test.each([
    ["that it made, when it is refused", [], heddleError(Code.InvalidArgument, "MODEL_NOT_OFFERED", "no"), [threadId]],
    ["not that it was given", ["--thread", threadId], heddleError(Code.InvalidArgument, "INVALID_FIELD", "no"), []],
    ["not when the message may have arrived", [], new ConnectError("gone", Code.Unavailable), []],
  ])("a run without a beginning takes its thread away: the one %s", async (_, flags, error, expected) => {
    const deleted: string[] = [];
    const { server } = serving([], {
      sendMessage: () => {
        throw error;
      },
      deleteThread: ({ threadId: id }) => {
        deleted.push(id);
        return {};
      },
    });
    await using url = await server;
    await heddleRun(["x", ...flags, "--server", url.url]);
    expect(deleted).toEqual(expected);
  });

  test("a question of the agent's is followed by how to answer it", async () => {
    const asked = over("c", "Asked", undefined, { toolName: "clarify" });
    const { server } = serving([started(), named("c", "Ask"), asked, runEnd(undefined, { finishReason: "tool_stop" })]);
    await using url = await server;
    const { code, stderr } = await heddleRun(["x", "--server", url.url]);
    expect(code).toBe(0);
    expect(stderr).toBe(`heddle: Answer with: heddle run --thread ${threadId} "…" --server ${url.url}\n`);
  });

  test("what others print goes to standard error, also where events are JSON", async () => {
    const { server, stored } = serving([started(), runEnd()]);
    await using url = await server;
    const io = fakeIo();
    io.stdout.onWrite = (text) => text.includes("runStarted") && io.prints("debugging my tool");
    const { stdout, stderr } = await heddleRun(["x", "--json", "--server", url.url], io);
    expect(stderr).toBe("debugging my tool\n");
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toHaveLength(stored.length);
  });

  /** A run that goes on for ever, upon a server that answers a cancel with this. */
  async function interrupted(name: "SIGINT" | "SIGTERM", cancelRun: () => never) {
    const io = fakeIo();
    const { server } = serving([], {
      cancelRun,
      async *streamThreadEvents() {
        yield newEvent({ threadId, payload: { case: "ready", value: {} } });
        yield newEvent({ ...started(), sequence: 1n });
        await new Promise(() => {});
      },
    });
    await using url = await server;
    io.stdout.onWrite = (text) => text.includes("started") && io.signal(name);
    return { ...(await heddleRun(["x", "--server", url.url], io)), url: url.url };
  }

  test.each([
    ["SIGINT", "that reaches nobody", 130, () => new ConnectError("connect ECONNREFUSED", Code.Unavailable)],
    ["SIGTERM", "that reaches nobody", 143, () => new ConnectError("connect ECONNREFUSED", Code.Unavailable)],
    ["SIGTERM", "that is refused", 143, () => heddleError(Code.PermissionDenied, "PERMISSION_DENIED", "no")],
  ] as const)("%s with a cancel %s ends with %d, and says how to see the rest", async (name, _, expected, error) => {
    const { code, stderr, url } = await interrupted(name, () => {
      throw error();
    });
    expect(code).toBe(expected);
    expect(stderr).toMatch(/heddle: the run could not be called off: /);
    expect(stderr).toContain(`follow it later with heddle follow ${threadId} --server ${url}\n`);
    expect(stderr).not.toContain("leaves it running");
  });

  test("a second signal says what becomes of the run", async () => {
    const io = fakeIo();
    const { server } = serving([], {
      cancelRun: () => {
        io.signal("SIGTERM");
        return {};
      },
      async *streamThreadEvents() {
        yield newEvent({ threadId, payload: { case: "ready", value: {} } });
        yield newEvent({ ...started(), sequence: 1n });
        while (io.exits.length === 0) await new Promise(setImmediate);
        yield newEvent({ ...runEnd(RunOutcome.CANCELLED), sequence: 2n });
      },
    });
    await using url = await server;
    io.stdout.onWrite = (text) => text.includes("started") && io.signal("SIGTERM");
    const { stderr } = await heddleRun(["x", "--server", url.url], io);
    expect(io.exits).toEqual([143]);
    expect(stderr).toMatch(/left at once: the server goes on calling the run off; see how it ends with heddle follow /);
    expect(io.exitListeners.size).toBe(0);
  });

  test("a server that is not there is said, with what to do", async () => {
    const { server } = serving([]);
    const { url } = await server;
    await (await server)[Symbol.asyncDispose]();
    const { code, stderr } = await heddleRun(["x", "--server", url]);
    expect(code).toBe(4);
    expect(stderr).toMatch(new RegExp(`^heddle: cannot reach the server at ${url}: .*Start one with "heddle serve"`));
  });

  test("S1: goes on through cuts, each event once", async () => {
    let streams = 0;
    const { server, stored } = serving([...script, runEnd()], {
      async *streamThreadEvents({ afterSequence }) {
        const from = Number(afterSequence);
        yield newEvent({ threadId, payload: { case: "ready", value: {} } });
        streams++;
        yield* streams < 4 ? stored.slice(from, from + 5) : stored.slice(from);
        if (streams < 4) (await server).cut();
        await new Promise(() => {});
      },
    });
    await using url = await server;
    const { code, stdout } = await heddleRun(["x", "--json", "--server", url.url]);
    expect(code).toBe(0);
    expect(stdout.trim().split("\n")).toHaveLength(stored.length);
  });
});

describe("usage", () => {
  test.each([
    [[], "missing required argument 'prompt'"],
    [[" "], "the prompt is empty: say what to ask"],
    [["what", "is", "this"], "too many arguments for 'run'"],
    [["x", "--max-steps", "0"], "It must be a whole number from 1 to 1000"],
    [["x", "--max-steps", "1001"], "It must be a whole number from 1 to 1000"],
    [["x", "--thread", "abc"], "is not the id of a thread"],
    [["x", "--server", "http://a:1", "--data", "d"], "cannot be used with option"],
    [["x", "--server", "http://a:1", "--workspace", "d"], "cannot be used with option"],
    [["x", "--server", "http://a:1", "--config", "f"], "cannot be used with option"],
    [["x", "--workspace", "/nope/nope"], "--workspace: there is no directory /nope/nope"],
    [["x", "--model", "gpt"], "--model must be provider:name"],
    [["x", "--model", "nobody:x"], "--model: nobody:x is no model"],
    [["x", "--log-level", "loud"], "--log-level must be one of"],
  ])("%j ends with code 2", async (args, text) => {
    const { code, stdout, stderr } = await heddleRun(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(text);
  });

  test.each([
    ["--data", "d"],
    ["--workspace", "."],
    ["--config", "f"],
    ["--log-level", "info"],
  ])("HEDDLE_SERVER and %s cannot stand together, as --server and it cannot", async (flag, value) => {
    const io = fakeIo({ env: { HEDDLE_SERVER: "http://127.0.0.1:1" } });
    const { code, stderr } = await heddleRun(["x", flag, value], io);
    expect(code).toBe(2);
    expect(stderr).toContain(`${flag} cannot be used with one. Unset HEDDLE_SERVER, or leave ${flag} out`);
  });
});
