// A question in the live view: what is to be seen of it on terminals of any size, and what is typed below it.
import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ContentRole } from "../../gen/heddle/v1/content_pb.js";
import { GetToolCallResponseSchema } from "../../gen/heddle/v1/tool_call_service_pb.js";
import { lineWidth, plainText } from "../../src/cli/live-view-line.js";
import { questionLines } from "../../src/cli/live-view-question.js";
import { openLiveView } from "../../src/cli/live-view-terminal.js";
import { previewLines } from "../../src/cli/preview-lines.js";
import { answerIn, type Question, questionOf } from "../../src/cli/run-question.js";
import { nothingTyped, typed } from "../../src/cli/typed-line.js";
import { event, named, over, prints, ready, running, started } from "./live-view-support.js";
import { fakeIo } from "./support.js";
import { TinyTerminal } from "./tiny-terminal.js";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

const questionAbout = (toolCallId: string, text: string, mediaType = "text/x-diff"): Question => ({
  toolCallId,
  heading: { title: "Write file", summary: "Writing n.txt" },
  why: "Policy asks before files are changed; expires in 59 min",
  body: previewLines(text, mediaType),
  seeAll: `heddle approvals show ${toolCallId}`,
});

const small = "--- a/n.txt\n+++ b/n.txt\n@@ -1 +1 @@\n-old\n+new\n";
const typing = "  Allow? [y]es / [n]o / n and a reason: ";

async function openTerminal({ columns = 70, rows = 16 } = {}) {
  const terminal = new TinyTerminal(columns, rows);
  const io = fakeIo({ isTTY: true, columns, rows });
  io.stdout.onWrite = (data) => terminal.write(data);
  const view = openLiveView(io);
  const leaving = new AbortController();
  const draw = (ms = 40) => vi.advanceTimersByTimeAsync(ms);
  return {
    terminal,
    io,
    view,
    leaving,
    draw,
    ask: (question: Question) => {
      const answer = view.ask(question, leaving.signal);
      answer.catch(() => {});
      return answer;
    },
    async types(text: string) {
      io.stdin.types(text);
      await draw();
    },
  };
}

const asked = (toolCallId: string) =>
  event({ case: "toolCallApprovalRequested", value: { toolCallId, summary: "Writing n.txt", reason: "policy" } });

test("a line as long as a whole preview may be is drawn at once, as far as it fits", () => {
  vi.useRealTimers();
  for (const text of ["x".repeat(512 * 1024), `${"x".repeat(512 * 1024)}é`, "é".repeat(512 * 1024)]) {
    const question = questionAbout("a-call", text);
    const open = { question, typed: "", isUnclear: false };
    const begun = performance.now();
    for (let draw = 0; draw < 20; draw++) {
      const lines = questionLines(open, { columns: 80, room: 20 });
      expect(lines).toHaveLength(20);
      expect(plainText(lines.at(-2)!)).toContain("1 more line, not shown");
    }
    // It is a matter of milliseconds; wrapping all of it took minutes.
    expect(performance.now() - begun).toBeLessThan(5_000);
  }
});

describe("what is shown of a call", () => {
  const body = (role: ContentRole, text: string, mediaType: string) => ({
    info: { role, mediaType, contentId: role === ContentRole.INPUT ? "input" : "preview" },
    data: Buffer.from(text),
  });
  const shown = (preview: string): string => {
    const response = create(GetToolCallResponseSchema, {
      toolCall: { id: "a-call", title: "Run command", startedSummary: "Running npm test" },
      contents: [
        body(ContentRole.INPUT, '{"command":"npm test; rm -rf /"}', "application/json"),
        body(ContentRole.PREVIEW, preview, "text/plain"),
      ],
    });
    const question = questionOf(response, { seeAll: "heddle approvals show a-call", nowMs: 0 });
    return question.body.map(plainText).join("\n");
  };

  test("the preview, where it shows everything", () => {
    expect(shown("npm test; rm -rf /\n")).toBe("npm test; rm -rf /");
  });

  test("the input, where something in the preview is hidden because it looks like a secret", () => {
    expect(shown("npm test # -----BEGIN RSA PRIVATE KEY-----[redacted]")).toBe(
      'Parts of the preview look like secrets and are hidden. The whole input instead:\n{"command":"npm test; rm -rf /"}',
    );
  });
});

describe("asked on a terminal", () => {
  test("it stands below what goes on, in place of its call, and shows what is typed", async () => {
    const { terminal, io, view, ask, draw, types } = await openTerminal();
    for (const each of [started(), named("t", "Run tests"), running("t", "Running npm test"), named("w", "Write file")])
      await view.event(each);
    await view.event(ready("w", "Writing n.txt"));
    await view.event(asked("w"));
    const answer = ask(questionAbout("w", small));
    expect(io.stdin.mode).toBe("keys");
    await draw(300);
    const question = [
      "? Write file: Writing n.txt",
      "  Policy asks before files are changed; expires in 59 min",
      "    --- a/n.txt",
      "    +++ b/n.txt",
      "    @@ -1 +1 @@",
      "    -old",
      "    +new",
    ];
    const goesOn = expect.stringMatching(/^[◐◓◑◒] Run tests: Running npm test/);
    expect(terminal.screen.slice(-11)).toEqual(["", goesOn, "", ...question, `${typing}▌`]);
    await types("no, us");
    expect(terminal.screen.at(-1)).toBe(`${typing}no, us▌`);
    await types("\u007f\u007fnot \u001b[A\u0007this\u001b[31m 🎉");
    expect(terminal.screen.at(-1)).toBe(`${typing}no, not this 🎉▌`);
    await view.event(prints("t", "42 passed\n"));
    await view.event(over("t", "Ran npm test"));
    await draw();
    expect(terminal.screen.slice(-9)).toEqual(["", ...question, `${typing}no, not this 🎉▌`]);
    expect(terminal.text).toContain("✓ Run tests: Ran npm test  8 ms");
    await types("\r");
    expect(await answer).toEqual({ decision: "denied", reason: "not this 🎉" });
    await draw();
    expect(terminal.text.join("\n")).not.toContain("Allow?");
    expect(io.stdin.mode).toBeUndefined();
    await view.close();
    expect(terminal.isCursorVisible).toBe(true);
  });

  test("what was typed before it could be read is no answer to it", async () => {
    const { ask, draw, types, io } = await openTerminal();
    const answer = ask(questionAbout("w", small));
    await types("y\r");
    expect(io.stdin.mode).toBe("keys");
    await draw(250);
    await types("y\r");
    expect(await answer).toEqual({ decision: "allowed" });
  });

  test("what is no answer is asked for again", async () => {
    const { terminal, ask, draw, types } = await openTerminal({ columns: 110 });
    const answer = ask(questionAbout("w", small));
    await draw(300);
    await types("sure\r");
    expect(terminal.screen.at(-1)).toBe(`  Type y to allow it, or n, or n and a reason. ${typing.trimStart()}▌`);
    await types("yes");
    expect(terminal.screen.at(-1)).toBe(`${typing}yes▌`);
    await types("\n");
    expect(await answer).toEqual({ decision: "allowed" });
  });

  test("it goes away when its signal says so, and the terminal is free again", async () => {
    const { terminal, io, ask, draw, leaving } = await openTerminal();
    const answer = ask(questionAbout("w", small));
    await draw();
    expect(terminal.screen.at(-1)).toBe(`${typing}▌`);
    leaving.abort(new Error("answered elsewhere"));
    await expect(answer).rejects.toThrow("answered elsewhere");
    await draw();
    expect(terminal.screen).toEqual([]);
    expect(io.stdin.mode).toBeUndefined();
  });
});

describe("a preview that is too long", () => {
  const long = Array.from({ length: 40 }, (_, index) => `+line ${index}\n`).join("");

  test("is cut to the screen, with how much is missing and how to see it", async () => {
    const { terminal, ask, draw } = await openTerminal({ rows: 10 });
    void ask(questionAbout("w", long));
    await draw();
    expect(terminal.screen.slice(-9)).toEqual([
      "? Write file: Writing n.txt",
      "  Policy asks before files are changed; expires in 59 min",
      ...[0, 1, 2, 3, 4].map((index) => `    +line ${index}`),
      "  … 35 more lines, not shown: heddle approvals show w",
      `${typing}▌`,
    ]);
  });

  test.each([4, 5, 6, 8, 24])("fits %i rows, however narrow they are, and keeps heading and prompt", (rows) => {
    const wide = `+${"漢字 and more ".repeat(30)}\n-${"x".repeat(300)}\n`;
    for (const text of ["", small, long, wide])
      for (let columns = 20; columns <= 120; columns += 7) {
        const open = { question: questionAbout("w", text), typed: "n because".repeat(20), isUnclear: false };
        const lines = questionLines(open, { columns, room: rows - 1 });
        expect(lines.length).toBeLessThanOrEqual(rows - 1);
        for (const line of lines) expect(lineWidth(line)).toBeLessThanOrEqual(columns);
        const all = lines.map(plainText);
        expect(all[0]).toMatch(/^\? Write/);
        expect(all.at(-1)).toMatch(/because▌$/);
        // Either all of it is there, or it is said that it is not.
        const shown = all.join("").replaceAll(" ", "");
        const isWhole = text.split("\n").every((line) => shown.includes(line.replaceAll(" ", "").slice(-5)));
        if (!isWhole && rows > 4) expect(shown).toContain("…");
      }
  });

  test("a line that does not fit its row goes on in the next: its end is not hidden", () => {
    const body = `+echo hello${" ".repeat(100)}; rm -rf ~\n`;
    const open = { question: questionAbout("w", body), typed: "", isUnclear: false };
    const all = questionLines(open, { columns: 60, room: 20 }).map(plainText);
    expect(all.slice(2, -1)).toEqual([
      expect.stringMatching(/^ {4}\+echo hello +$/),
      expect.stringMatching(/^ {2}↪ +;$/),
      "  ↪  rm -rf ~",
    ]);
  });
});

test("nothing of a preview acts on the terminal, and nothing in it is unseen", () => {
  const text =
    "a\u001b[2J\u009b\u0007\r\u2028b\u202ec\u200bd\u200de\u00adf\ufe0fg\u{e0041}h\u3164i\u2800j\u00a0k\u3000l\tm\n";
  const [line] = previewLines(text, "text/plain");
  expect(plainText(line!)).toBe(
    "a\\u{1b}[2J\\u{9b}\\u{7}\\r\\u{2028}b\\u{202e}c\\u{200b}d\\u{200d}e\\u{ad}f\\u{fe0f}g\\u{e0041}h\\u{3164}i\\u{2800}j\\u{a0}k\\u{3000}l    m",
  );
});

test.each([
  ["y", { decision: "allowed" }],
  [" YES ", { decision: "allowed" }],
  ["n", { decision: "denied", reason: "" }],
  ["No.", { decision: "denied", reason: "" }],
  ["n not today", { decision: "denied", reason: "not today" }],
  ["no: use yarn", { decision: "denied", reason: "use yarn" }],
  ["no - y", { decision: "denied", reason: "y" }],
  ["", undefined],
  ["yes but", undefined],
  ["yn", undefined],
  ["now", undefined],
  ["never", undefined],
])("%j is %j", (line, answer) => {
  expect(answerIn(line)).toEqual(answer);
});

test.each([
  ["text and a line's end", ["y", "es\r", ""], "yes", true],
  ["what comes behind the end is dropped", ["y\rn"], "y", true],
  ["backspace takes a character as people see it", ["a👩‍👩‍👧\u007f\bb"], "b", false],
  ["Ctrl-U takes all", ["no, because\u0015y"], "y", false],
  ["arrows and other keys are nothing", ["\u001b[Ay\u001bOP\u001b[3~\u0004\u001a"], "y", false],
  ["a paste without an end is bounded", ["x".repeat(5000)], "x".repeat(1000), false],
])("typed: %s", (_, pieces, text, isComplete) => {
  let line = nothingTyped;
  for (const keys of pieces) if (!line.isComplete) line = typed(line, keys);
  expect(line).toEqual({ text, isComplete });
});
