// The table as text that is also Markdown.
import type { Row } from "./rows.js";

const columns = ["figure", "heddle", "limit", "peers", "verdict"] as const satisfies readonly (keyof Row)[];
const heads: Readonly<Record<(typeof columns)[number], string>> = {
  figure: "figure",
  heddle: "Heddle",
  limit: "limit",
  peers: "peer",
  verdict: "verdict",
};

export function table(rows: readonly Row[]): string {
  const cells = [columns.map((column) => heads[column]), ...rows.map((row) => columns.map((column) => row[column]))];
  const widths = columns.map((_, at) => Math.max(...cells.map((line) => line[at]!.length)));
  const line = (texts: readonly string[]) => `| ${texts.map((text, at) => text.padEnd(widths[at]!)).join(" | ")} |`;
  const rule = line(widths.map((width) => "-".repeat(width)));
  return [line(cells[0]!), rule, ...cells.slice(1).map(line)].join("\n");
}
