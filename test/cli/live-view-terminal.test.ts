// The live view drawn: what is to be seen on a terminal while a run goes on, and what is left when it is over.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import { clipLine, lineOf, plainText, wrapText } from "../../src/cli/live-view-line.js";
import { openLiveView } from "../../src/cli/live-view-terminal.js";
import { widthOf } from "../../src/cli/live-view-width.js";
import {
  message,
  named,
  over,
  prints,
  progress,
  ready,
  runEnd,
  running,
  said,
  says,
  speaks,
  started,
  threadId,
} from "./live-view-support.js";
import { fakeIo } from "./support.js";
import { TinyTerminal } from "./tiny-terminal.js";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

function openTerminal({
  columns = 60,
  rows = 16,
  env = {},
}: {
  columns?: number;
  rows?: number;
  env?: Record<string, string>;
} = {}) {
  const terminal = new TinyTerminal(columns, rows);
  const io = fakeIo({ isTTY: true, columns, rows, env });
  io.stdout.onWrite = (data) => terminal.write(data);
  const view = openLiveView(io);
  return {
    terminal,
    io,
    view,
    /** Shows the events and what time makes of them. */
    async play(events: readonly StreamThreadEventsResponse[], ms = 40) {
      for (const event of events) await view.event(event);
      await vi.advanceTimersByTimeAsync(ms);
    },
    resize(to: number) {
      terminal.resize(to);
      Object.assign(io.stdout, { columns: to });
    },
  };
}

const begin = [
  started(),
  message("m"),
  says("m", "Let me look at the folder and at the tests.\nThen I "),
  says("m", "tell you."),
];
const work = [
  said("m"),
  named("list", "List a folder"),
  named("test", "Run a command"),
  ready("list", "Listing ."),
  running("list", "Listing ."),
  ready("test", "Running npm test"),
  running("test", "Running npm test"),
  prints("test", "1 passed\n2 passed\n"),
  progress("test", { completed: 2, total: 8 }),
];
const end = [
  over("test", "Ran npm test (exit code 0)"),
  named("tell", "Tell the user"),
  speaks("tell", "All is "),
  speaks("tell", "well. 🎉"),
  ready("tell", "Telling the user: All is well."),
  running("tell", "Telling the user: All is well."),
  over("tell", "Told the user: All is well."),
  runEnd(),
];

const opening = [
  "▶ demo:demo",
  `  thread ${threadId}`,
  "",
  "Let me look at the folder and at the tests.",
  "Then I tell you.",
];

describe("a scripted session", () => {
  test("is drawn as it goes, and leaves plain text behind", async () => {
    const { terminal, view, play } = openTerminal();
    await play(begin);
    expect(terminal.screen).toEqual(opening);
    await play([...work, over("list", "Listed 12 entries")], 2_000);
    expect(terminal.screen).toEqual([
      ...opening,
      "",
      "✓ List a folder: Listed 12 entries  8 ms",
      expect.stringMatching(/^[◐◓◑◒] Run a command: Running npm test {2}\d\.\d s$/),
      "  █████░░░░░░░░░░░░░░░ 25%  2 of 8",
      "    1 passed",
      "    2 passed",
    ]);
    expect(terminal.isCursorVisible).toBe(false);
    await play(end.slice(0, 3));
    expect(terminal.screen.slice(-4)).toEqual(["    1 passed", "    2 passed", "", "All is"]);
    await play(end.slice(3));
    await view.close();
    expect(terminal.text).toEqual([
      ...opening,
      "",
      "✓ List a folder: Listed 12 entries  8 ms",
      "✓ Run a command: Ran npm test (exit code 0)  8 ms",
      "    1 passed",
      "    2 passed",
      "",
      "All is well. 🎉",
      "",
      "✓ succeeded  2.1 s, 512 tokens in, 80 out",
    ]);
    expect(terminal.isCursorVisible).toBe(true);
  });

  test("is the same on a terminal that is too small for it", async () => {
    const small = openTerminal({ columns: 30, rows: 5 });
    for (const event of [...begin, ...work, over("list", "Listed 12 entries"), ...end]) {
      await small.play([event], 130);
      expect(small.terminal.screen.length).toBeLessThanOrEqual(5);
    }
    await small.view.close();
    const joined = small.terminal.text.join("");
    const inOrder = [
      "▶ demo:demo",
      "Let me look",
      "✓ List a folder",
      "✓ Run a command",
      "All is well. 🎉",
      "✓ succeeded",
    ];
    expect(inOrder.map((part) => joined.split(part).length - 1)).toEqual(inOrder.map(() => 1));
    expect(inOrder.map((part) => joined.indexOf(part))).toEqual(
      inOrder.map((part) => joined.indexOf(part)).sort((a, b) => a - b),
    );
    expect(joined).not.toMatch(/[◐◓◑◒]/);
  });

  test("survives a terminal that becomes narrower and wider meanwhile", async () => {
    const { terminal, view, play, resize } = openTerminal({ columns: 60, rows: 30 });
    await play([...begin, ...work]);
    for (const columns of [34, 25, 90]) {
      resize(columns);
      await vi.advanceTimersByTimeAsync(500);
    }
    expect(terminal.text.join("").match(/Run a command: Running npm test/g)).toHaveLength(1);
    await play([over("list", "Listed 12 entries"), ...end]);
    await view.close();
    expect(terminal.text.join("").match(/[◐◓◑◒]/g)).toBeNull();
    expect(terminal.text.at(-1)).toBe("✓ succeeded  2.1 s, 512 tokens in, 80 out");
  });
});

describe("drawing", () => {
  test("a hundred pieces of text cost a bounded number of writes, and an idle view none", async () => {
    const { io, play } = openTerminal();
    let writes = 0;
    const { onWrite } = io.stdout;
    io.stdout.onWrite = (data) => {
      writes++;
      onWrite(data);
    };
    await play([started(), message("m"), ...Array.from({ length: 100 }, () => says("m", "x"))], 1_000);
    expect(writes).toBeLessThanOrEqual(3);
    writes = 0;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(writes).toBe(0);
  });

  test("colours follow NO_COLOR", async () => {
    const sgr = "\u001b[32m";
    for (const [env, isColoured] of [
      [{}, true],
      [{ NO_COLOR: "1" }, false],
    ] as const) {
      const { io, view, play } = openTerminal({ env });
      await play([started(), runEnd()]);
      await view.close();
      expect(io.stdout.text.includes(sgr)).toBe(isColoured);
    }
  });

  test("the cursor comes back when the process is left at once, and nobody listens on after the end", async () => {
    const { terminal, io, view, play } = openTerminal();
    await play(begin);
    io.exit(130);
    expect(terminal.isCursorVisible).toBe(true);
    await view.close();
    expect(io.exitListeners.size).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a slow terminal gets fewer frames, and the last one", async () => {
    const io = fakeIo({ isTTY: true, columns: 60, rows: 16 });
    const terminal = new TinyTerminal(60, 16);
    const waiting: (() => void)[] = [];
    io.stdout.write = (data) => {
      terminal.write(String(data));
      return new Promise((resolve) => waiting.push(resolve));
    };
    const view = openLiveView(io);
    for (let count = 1; count <= 50; count++) {
      await view.event(named(`c${count}`, `Call ${count}`));
      await vi.advanceTimersByTimeAsync(200);
    }
    expect(waiting).toHaveLength(1);
    for (let count = 1; count <= 50; count++) await view.event(over(`c${count}`, "Done"));
    io.stdout.write = async (data) => terminal.write(String(data));
    for (const resolve of waiting) resolve();
    await view.close();
    expect(terminal.text).toHaveLength(50);
  });

  test("a reader that has left ends it", async () => {
    const { io, view, play } = openTerminal();
    io.stdout.onWrite = () => {
      throw Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
    };
    await play(begin);
    await expect(view.event(said("m"))).rejects.toMatchObject({ code: "EPIPE" });
    await view.close();
  });

  test("a note of the command's own stands between", async () => {
    const { terminal, view, play } = openTerminal();
    await play([started()]);
    view.note("calling the run off\u001b[2J");
    await play([runEnd()]);
    await view.close();
    expect(terminal.text[2]).toBe("calling the run off\\u{1b}[2J");
  });
});

describe("what does not come from the run", () => {
  const busy = [started(), named("c", "Run a command"), running("c", "Running npm test")];

  test("lines of others stand above what is open, on standard error", async () => {
    const { terminal, io, view, play } = openTerminal();
    io.stderr.onWrite = (data) => terminal.write(data);
    await play(busy);
    view.foreign("debug \u001b[31mred\u001b[0m\u0007");
    await play([], 200);
    const [header, thread, foreign, gap, call] = terminal.text;
    expect([header, thread, foreign, gap]).toEqual(["▶ demo:demo", `  thread ${threadId}`, "debug red\\u{7}", ""]);
    expect(call).toContain("Run a command: Running npm test");
    view.foreign("the last word");
    await view.event(over("c", "Ran npm test"));
    await view.close();
    expect(terminal.text.slice(-3)).toEqual(["the last word", "", "✓ Run a command: Ran npm test  8 ms"]);
    expect(io.stderr.text).toBe("debug red\\u{7}\nthe last word\n");
    expect(io.stdout.text).not.toContain("debug");
  });

  test("where standard error is a file, they go there as they are", async () => {
    const { terminal, io, view, play } = openTerminal();
    Object.assign(io.stderr, { isTTY: false });
    await play(busy);
    view.foreign("debug \u001b[31mred");
    await play([], 200);
    await view.close();
    expect(io.stderr.text).toBe("debug \u001b[31mred\n");
    expect(terminal.text.join()).not.toContain("debug");
  });

  test("a process that ends at once leaves no spinner, and one line that says what becomes of the run", async () => {
    const { terminal, io, view, play } = openTerminal();
    view.farewell("left at once: the run goes on");
    await play(busy);
    expect(terminal.text.at(-1)).toContain("Run a command");
    io.exit(130);
    expect(terminal.text).toEqual(["▶ demo:demo", `  thread ${threadId}`, "left at once: the run goes on"]);
    expect(terminal.isCursorVisible).toBe(true);
    await view.close();
  });

  test("a view that is closed before the run is over leaves no spinner", async () => {
    const { terminal, view, play } = openTerminal();
    await play(busy, 2_000);
    await view.close();
    expect(terminal.text).toEqual(["▶ demo:demo", `  thread ${threadId}`]);
  });
});

describe("width", () => {
  test.each([
    ["abc", 3],
    ["日本", 4],
    ["👩‍💻", 2],
    ["❤️", 2],
    ["é", 1],
    ["e\u0301", 1],
    ["한글", 4],
    ["ａ", 2],
    ["✓ ⊘ ◐ █", 7],
    ["\u200d", 0],
  ])("%s takes %d columns", (text, width) => {
    expect(widthOf(text)).toBe(width);
  });

  test("a line is clipped between characters, and a cut is shown", () => {
    expect(plainText(clipLine(lineOf("日本語"), 5))).toBe("日本…");
    expect(plainText(clipLine(lineOf("日本語"), 4))).toBe("日…");
    expect(plainText(clipLine([{ text: "abc" }, { text: "def" }], 5))).toBe("abcd…");
    expect(plainText(clipLine([{ text: "abc" }, { text: "def" }], 6))).toBe("abcdef");
  });

  test("text is wrapped at spaces, and within a word that is too long", () => {
    expect(wrapText("one two three four", 9)).toEqual(["one two", "three", "four"]);
    expect(wrapText("abcdefghij", 4)).toEqual(["abcd", "efgh", "ij"]);
    expect(wrapText("日本語", 4)).toEqual(["日本", "語"]);
  });
});
