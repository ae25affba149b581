// Runs a piece of Python or JavaScript in the thread's own interpreter. It sees no workspace, no network and no files but those in
// its scratch folder; what it makes there are parts of the call.
import { z } from "zod";
import { secondsOf } from "../command/command-words.js";
import { visible } from "../command/visible.js";
import { bounds } from "../interpreter/bounds.js";
import { codeResult, resultOf, summaryOf, textForModel } from "../interpreter/code-words.js";
import { type Interpreters, names } from "../interpreter/interpreters.js";
import { defineTool, type ToolDefinition } from "../tool.js";
import { sizeWords } from "../web/size-words.js";
import { counted } from "../words.js";

const codeUnits = 200_000;
/** Calls of one thread wait for each other. */
const waitingCalls = 4;
const longestMs = 24 * 3_600_000;

const input = z.object({
  language: z.enum(["python", "javascript"]).describe("What the code is written in"),
  code: z
    .string()
    .max(codeUnits)
    .regex(/\S/, "must not be empty")
    .describe("The code. The value of its last expression is part of the result, as in a notebook"),
});

export function codeInterpreter(interpreters: Interpreters): ToolDefinition<typeof input, typeof codeResult> {
  const { wall, timeoutMs } = interpreters;
  return defineTool({
    name: "code_interpreter",
    title: "Run code",
    description: `Run Python or JavaScript to compute something. Variables and files are kept between your calls. Python 3.14 has its standard library and nothing else: no numpy, no pandas, no pip, no threads, no await outside of functions (asyncio.run works). JavaScript is plain ECMAScript with console.log, readFile(name), readFile(name, "bytes"), writeFile(name, textOrBytes), listFiles() and deleteFile(name): no modules, no timers; declare with var what a later call declares again. Both work in the same scratch folder; what they write there, the user can download (up to ${sizeWords(bounds.scratch.fileBytes)} a file). There is no network, no access to the workspace, no other program. A call may take ${secondsOf(timeoutMs)} s.`,
    kind: "execute",
    input,
    output: codeResult,
    textFields: [{ field: "code", purpose: "code" }],
    phase: "interpreting",
    policy: wall.isIsolated ? "allow" : "ask",
    timeoutMs: Math.min(longestMs, waitingCalls * timeoutMs + 2 * bounds.loadMs),
    isolation: wall.isolation,
    describe: ({ language, code }) => `Running ${nameOf(language)} code (${linesOf(code)})`,
    preview: async ({ language, code }) => ({ mediaType: "text/plain", data: previewOf(language, code, interpreters) }),
    run: async (asked, context) => {
      const { result, content } = resultOf(asked.language, await interpreters.run(asked, context));
      return {
        result,
        summary: summaryOf(result, interpreters),
        isError: result.error !== undefined || result.ended !== "finished",
        content,
        // As the languages' own programs would end.
        ...(result.ended === "finished" && { exitCode: result.error === undefined ? 0 : 1 }),
      };
    },
    toModel: (result) => textForModel(result, interpreters),
  });
}

/** A model may name another, and then nothing runs. */
const nameOf = (language: string): string => (language === "javascript" ? names.javascript : names.python);

const linesOf = (code: string): string => counted(code.trimEnd().split("\n").length, "line", "lines");

/** The code comes last: nothing in it can pass for a line of ours below it. */
function previewOf(language: "python" | "javascript", code: string, { wall, timeoutMs }: Interpreters): string {
  const lines = [
    `Isolation: ${wall.isolation}`,
    `Time: at most ${secondsOf(timeoutMs)} s`,
    `${names[language]} code:`,
    ...visible(code)
      .split("\n")
      .map((line) => `  ${line}`),
  ];
  return `${lines.join("\n")}\n`;
}
