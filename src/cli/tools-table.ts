// The list of tools for people: columns as wide as what is in them, and below them how what tools start is held in.
import { ToolKind, ToolPolicy, type ToolSource } from "../../gen/heddle/v1/tool_call_pb.js";
import type { Tool } from "../../gen/heddle/v1/tool_service_pb.js";
import { headWithin, widthOf } from "./live-view-width.js";
import { type Style, safeLine } from "./terminal.js";
import { word } from "./words.js";

const columns = ["name", "title", "kind", "source", "policy"] as const;
type Column = (typeof columns)[number];
type Cells = Readonly<Record<Column, string>>;

const gap = "  ";
/** A narrow terminal gets fewer columns, and is cut where that does not do. */
const droppedFirst: readonly Column[] = ["source", "title", "kind"];

/** Its lines. */
export function toolsTable(tools: readonly Tool[], style: Style, terminalColumns?: number): string[] {
  const headings = Object.fromEntries(columns.map((column) => [column, column.toUpperCase()])) as Cells;
  const rows = tools.map(cellsOf);
  const row = rowFor([headings, ...rows], terminalColumns);
  return [
    style.dim(row(headings)),
    ...rows.map((cells, index) => painted(tools[index]!, row(cells), style)),
    ...isolationLines(tools, style),
  ];
}

const cellsOf = (tool: Tool): Cells => ({
  name: safeLine(tool.name),
  title: safeLine(tool.title),
  kind: word(ToolKind, tool.kind),
  source: safeLine(sourceWords(tool.source)),
  policy: word(ToolPolicy, tool.policy),
});

function sourceWords(source: ToolSource | undefined): string {
  switch (source?.source.case) {
    case "mcp":
      return `MCP ${source.source.value.serverLabel}`;
    case "client":
      return `client ${source.source.value.name}`.trimEnd();
    default:
      return "built-in";
  }
}

function rowFor(all: readonly Cells[], terminalColumns = Number.POSITIVE_INFINITY): (cells: Cells) => string {
  const widths = Object.fromEntries(
    columns.map((column) => [column, Math.max(...all.map((cells) => widthOf(cells[column])))]),
  ) as Record<Column, number>;
  let shown: readonly Column[] = columns;
  const width = () => shown.reduce((sum, column) => sum + widths[column] + gap.length, -gap.length);
  for (const column of droppedFirst) if (width() > terminalColumns) shown = shown.filter((each) => each !== column);
  const padded = (text: string, columnWidth: number) => text + " ".repeat(columnWidth - widthOf(text));
  return (cells) => {
    const line = shown.map((column) => padded(cells[column], widths[column])).join(gap);
    return cutTo(line.trimEnd(), terminalColumns);
  };
}

const cutTo = (line: string, width: number): string =>
  widthOf(line) <= width ? line : `${headWithin(line, width - 1)}…`;

function painted({ policy }: Tool, line: string, style: Style): string {
  if (policy === ToolPolicy.ASK) return style.yellow(line);
  return policy === ToolPolicy.DENY ? style.red(line) : line;
}

/** Not cut: what is promised here must be read to its end. Tools that are held in alike stand together. */
function isolationLines(tools: readonly Tool[], style: Style): string[] {
  const names = new Map<string, string[]>();
  for (const { name, isolation } of tools)
    if (isolation !== "") names.set(isolation, [...(names.get(isolation) ?? []), name]);
  const lines = [...names].map(([isolation, held]) => `  ${safeLine(held.join(", "))}: ${safeLine(isolation)}`);
  return lines.length === 0 ? [] : ["", style.dim("ISOLATION"), ...lines];
}
