// What a call on an MCP server takes through Heddle, from the model's last word to its stored end, beside the same call with the bare
// SDK between the same two commits: the call's start and its end.
import { interleaved, type Scenario } from "../scenario.js";
import { atMost, millis } from "../support/rows.js";
import { median } from "../support/statistics.js";
import type { McpAsks, Over } from "../workers/mcp-inside.js";

const rounds = 7;
/** One after the other, in each round. */
const calls = 40;
/** Of 200 calls each. */
const warmUpRuns = 15;

export const mcp: Scenario = {
  name: "mcp",
  about: "a call on an MCP server, beside the bare SDK's call and two flushed commits",
  async run(bench) {
    const args = [bench.workspace.directory(), bench.workspace.directory()];
    const inside = await bench.workspace.worker<McpAsks>("mcp-inside.ts", args);
    const count = bench.quick ? 3 : calls;
    const ask = (who: "heddle" | "bare", over: Over) => async () => median(await inside.ask(who, { over, count }));
    const measures = {
      stdio: ask("heddle", "stdio"),
      stdioBare: ask("bare", "stdio"),
      http: ask("heddle", "http"),
      httpBare: ask("bare", "http"),
    };
    for (let run = 0; run < (bench.quick ? 1 : warmUpRuns); run++)
      for (const over of ["stdio", "http"] as const) await inside.ask("warmUp", { over, count: bench.quick ? 3 : 200 });
    await interleaved(1, measures); // To warm up.
    const measured = await interleaved(bench.quick ? 1 : rounds, measures, (round, values) => {
      const texts = Object.entries(values).map(([name, value]) => `${name} ${millis(value)}`);
      bench.progress(`mcp, round ${round}: ${texts.join(", ")}`);
    });
    await inside.ask("close", undefined);
    const bare = (values: readonly number[]) => ({ name: "bare SDK, and two flushed commits", values });
    const row = (figure: string, heddle: readonly number[], peer: readonly number[]) =>
      atMost({ figure, heddle, peer: bare(peer), times: 1.5, show: millis });
    return [
      row("MCP call over stdio, p50", measured.stdio, measured.stdioBare),
      row("MCP call over streamable HTTP, p50", measured.http, measured.httpBare),
    ];
  },
};
