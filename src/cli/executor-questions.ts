// Questions of an executor, on its terminal: the call, why it is asked for, and what it would do here.
import type { Question as Asked, Asker } from "../executor/questions.js";
import type { ExecutorView } from "./executor-view.js";
import type { Io } from "./io.js";
import { paintedText } from "./live-view-line.js";
import { askedLines } from "./live-view-question.js";
import { commandLine, type Where } from "./next-command.js";
import { previewLines } from "./preview-lines.js";
import { readAnswer } from "./read-answer.js";
import { answeringOf } from "./run-prompt-approvals.js";
import { prompt, promptHint, type Question } from "./run-question.js";
import { safeLine, styleFor } from "./terminal.js";

interface AskerFlags {
  readonly yes: boolean;
  readonly json: boolean;
  readonly server: string;
}

export function askerOf(io: Io, flags: AskerFlags, view: ExecutorView): Asker {
  switch (answeringOf(io, flags)) {
    case "yes":
      return { kind: "yes" };
    case "nobody":
      return { kind: "nobody" };
    case "terminal":
      return { kind: "person", ask: (asked, signal) => ask(io, { question: questionOf(asked, flags), view, signal }) };
  }
}

const assumed = { columns: 80, rows: 24 };

async function ask(
  io: Io,
  { question, view, signal }: { question: Question; view: ExecutorView; signal: AbortSignal },
): Promise<{ isAllowed: boolean; reason: string }> {
  const style = styleFor(io, "stdout");
  const { columns = assumed.columns, rows = assumed.rows } = io.stdout;
  const lines = askedLines(question, { columns: columns - 1, room: rows - 2 });
  await view.write(`${lines.map((line) => `${paintedText(line, style)}\n`).join("")}${prompt}`);
  view.asking(prompt);
  const onChange = (_: string, isUnclear: boolean): void => {
    if (isUnclear) void view.write(`${promptHint}${prompt}`);
  };
  try {
    const answer = await readAnswer(io, { mode: "lines", signal, onChange, nowMs: Date.now });
    return answer.decision === "allowed"
      ? { isAllowed: true, reason: "" }
      : { isAllowed: false, reason: answer.reason };
  } finally {
    view.asking("");
    if (signal.aborted) await view.write("\n");
  }
}

/** What would happen here comes first; where there is nothing to see, the input says it. */
const questionOf = ({ call, why, preview, input }: Asked, where: Where): Question => ({
  toolCallId: call.toolCallId,
  heading: { title: safeLine(call.title), summary: safeLine(call.summary) },
  why: safeLine(why),
  body: preview ? previewLines(preview.data, preview.mediaType) : previewLines(input, "application/json"),
  seeAll: safeLine(commandLine(`call ${call.toolCallId}`, where)),
});
