// What a call of a built-in tool takes, from the model's last word to its stored end, beside the same work by hand between the same
// two commits: the call's start and its end.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { interleaved, type Scenario } from "../scenario.js";
import { atMost, millis, noted } from "../support/rows.js";
import { median } from "../support/statistics.js";
import type { ToolsAsks, Work } from "../workers/tools-inside.js";

const rounds = 7;
/** One after the other, in each round. */
const calls = { read_file: 40, run_command: 25 } as const;
const fileLines = 120;
/** Of 200 calls each. */
const warmUpRuns = 15;

export const tools: Scenario = {
  name: "tools",
  about: "read_file and run_command, beside the same by hand and two flushed commits",
  async run(bench) {
    const workspace = bench.workspace.directory();
    writeFileSync(
      join(workspace, "file.txt"),
      "A line of a file that is read, about as long as most\n".repeat(fileLines),
    );
    const args = [bench.workspace.directory(), bench.workspace.directory(), workspace];
    const inside = await bench.workspace.worker<ToolsAsks>("tools-inside.ts", args);
    const isolation = await inside.ask("isolation", undefined);
    bench.progress(`tools: commands are held in by ${isolation}`);
    const work = (tool: Work["tool"]): Work => ({ tool, count: bench.quick ? 3 : calls[tool] });
    const ask = (who: "heddle" | "byHand", tool: Work["tool"]) => async () => median(await inside.ask(who, work(tool)));
    const measures = {
      read: ask("heddle", "read_file"),
      readByHand: ask("byHand", "read_file"),
      readBare: async () => median(await inside.ask("byHand", { ...work("read_file"), isBare: true })),
      run: ask("heddle", "run_command"),
      runByHand: ask("byHand", "run_command"),
    };
    for (let run = 0; run < (bench.quick ? 1 : warmUpRuns); run++)
      await inside.ask("warmUp", { tool: "read_file", count: 200 });
    await interleaved(1, measures); // To warm up.
    const measured = await interleaved(bench.quick ? 1 : rounds, measures, (round, values) => {
      const texts = Object.entries(values).map(([name, value]) => `${name} ${millis(value)}`);
      bench.progress(`tools, round ${round}: ${texts.join(", ")}`);
    });
    const byHand = (values: readonly number[]) => ({ name: "by hand, and two flushed commits", values });
    const held = isolation.split(":")[0];
    return [
      atMost({
        figure: `read_file of ${fileLines} lines, p50`,
        heddle: measured.read,
        peer: byHand(measured.readByHand),
        times: 1.5,
        show: millis,
      }),
      noted({
        figure: `read_file of ${fileLines} lines, p50`,
        heddle: measured.read,
        peer: { name: "a bare readFile, and two flushed commits", values: measured.readBare },
        show: millis,
      }),
      atMost({
        figure: `run_command \`true\` (${held}), p50`,
        heddle: measured.run,
        peer: byHand(measured.runByHand),
        times: 1.5,
        show: millis,
      }),
    ];
  },
};
