// npm run bench: every figure beside its limit and its peers, in one table from one run.
import { availableParallelism, cpus } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Bench, Scenario } from "./scenario.js";
import { append } from "./scenarios/append.js";
import { engine } from "./scenarios/engine.js";
import { fanOut } from "./scenarios/fan-out.js";
import { idle } from "./scenarios/idle.js";
import { latency } from "./scenarios/latency.js";
import { mcp } from "./scenarios/mcp.js";
import { replay } from "./scenarios/replay.js";
import { responses } from "./scenarios/responses.js";
import { stalled } from "./scenarios/stalled.js";
import { tools } from "./scenarios/tools.js";
import { distVariable } from "./support/built.js";
import type { Row } from "./support/rows.js";
import { table } from "./support/table.js";
import { Workspace } from "./support/workspace.js";

const scenarios: readonly Scenario[] = [fanOut, append, latency, replay, idle, stalled, engine, tools, mcp, responses];

const help = `npm run bench -- [scenario …] [options]

Measures Heddle beside its peers and prints one table. Without a name, every scenario runs.

${scenarios.map(({ name, about }) => `  ${name.padEnd(10)}${about}`).join("\n")}

  --quick       small sizes: to see that everything runs, not to know how fast it is
  --strict      exit with 1 when a figure is over its limit
  --dist <dir>  measure another build: its dist directory
  --help        print this
`;

const { values: flags, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    strict: { type: "boolean", default: false },
    dist: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

process.exitCode = flags.help ? print(help) : await main();

async function main(): Promise<number> {
  const unknown = names.find((name) => !scenarios.some((scenario) => scenario.name === name));
  if (unknown !== undefined) return print(`There is no scenario "${unknown}".\n\n${help}`, process.stderr) + 2;
  if (flags.dist !== undefined) process.env[distVariable] = resolve(flags.dist);
  const startedAt = Date.now();
  const rows: Row[] = [];
  const failures: string[] = [];
  for (const scenario of scenarios.filter(({ name }) => names.length === 0 || names.includes(name))) {
    try {
      rows.push(...(await run(scenario)));
    } catch (error) {
      failures.push(`${scenario.name} could not be measured: ${error instanceof Error ? error.stack : error}`);
    }
  }
  const seconds = Math.round((Date.now() - startedAt) / 1000);
  print(
    `${machine()}, ${seconds} s${flags.quick ? ", QUICK: sizes too small to mean anything" : ""}\n\n${table(rows)}\n`,
  );
  for (const failure of failures) print(`\n${failure}\n`, process.stderr);
  const isOver = rows.some(({ verdict }) => verdict === "over");
  return failures.length > 0 || (flags.strict && isOver) ? 1 : 0;
}

async function run(scenario: Scenario): Promise<readonly Row[]> {
  await using workspace = new Workspace();
  const progress = (text: string): void => void process.stderr.write(`${text}\n`);
  const bench: Bench = { workspace, quick: flags.quick, progress };
  const abandon = (signal: NodeJS.Signals): void => {
    workspace.abandon();
    process.exit(signal === "SIGINT" ? 130 : 143);
  };
  process.once("SIGINT", abandon).once("SIGTERM", abandon);
  try {
    progress(`${scenario.name}: ${scenario.about}`);
    return await scenario.run(bench);
  } finally {
    process.off("SIGINT", abandon).off("SIGTERM", abandon);
  }
}

function machine(): string {
  const model = cpus()[0]?.model.trim() ?? "unknown processor";
  return `Node ${process.version}, ${process.platform} ${process.arch}, ${availableParallelism()} cores (${model})`;
}

/** Returns 0, the exit code of having said what was asked for. */
function print(text: string, to: NodeJS.WriteStream = process.stdout): number {
  to.write(text);
  return 0;
}
