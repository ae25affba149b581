// Reads one file of the workspace: lines of a text, or a picture.
import { z } from "zod";
import { limits } from "../../thread/limits.js";
import { imageType } from "../reading/image-type.js";
import { type LinesRead, readLines, readStart } from "../reading/read-lines.js";
import { defineTool, ToolFailure } from "../tool.js";
import { counted, oneLine, visible } from "../words.js";
import { type OpenFile, Workspace } from "../workspace/workspace.js";

const maxLines = 2_000;
const maxLineUnits = 2_000;
/** With the lines' numbers it stays below what a model is given of one result. */
const maxTextBytes = 48 * 1024;
/** Beyond it, lines are no longer counted. */
const countBytes = 32 * 1024 * 1024;
/** As large as model providers take. */
const maxImageBytes = 5 * 1024 * 1024;

const output = z.object({
  path: z.string().describe("From the workspace"),
  type: z.enum(["text", "image"]).describe("An image is a part of the result"),
  text: z.string().optional().describe("The lines, with a line feed between them"),
  first_line: z.number().int().optional().describe("The number of the first of them, from 1"),
  lines: z.number().int().optional().describe("How many they are"),
  total_lines: z.number().int().optional().describe("How many the file has, where they were counted"),
  cut_lines: z.number().int().optional().describe(`How many were cut after ${maxLineUnits} characters`),
  crlf: z.boolean().optional().describe("Lines end with CR LF, which the text does not show"),
  media_type: z.string().optional().describe("Of an image"),
  bytes: z.number().int().describe("The size of the file"),
});
type Output = z.infer<typeof output>;

export const readFile = defineTool({
  name: "read_file",
  title: "Read file",
  description: `Read a text file of the workspace, with line numbers, at most ${maxLines} lines at a time, or look at an image (PNG, JPEG, GIF, WebP). The number and the tab before each line are not part of the file.`,
  kind: "read",
  onlyLooks: true,
  input: z.object({
    path: z.string().min(1).max(limits.pathUnits).describe("The file, from the workspace"),
    offset: z.number().int().min(1).default(1).describe("The first line to read, from 1. Default: 1"),
    limit: z.number().int().min(1).max(maxLines).default(maxLines).describe(`How many lines. Default: ${maxLines}`),
  }),
  output,
  describe: ({ path }) => `Reading ${oneLine(path)}`,
  run: async ({ path, offset, limit }, { workspace: directory, signal }) => {
    signal.throwIfAborted();
    await using workspace = await Workspace.open(directory);
    const file = await workspace.openFile(path);
    await using _handle = file.handle;
    const start = await readStart(file.handle);
    const mediaType = imageType(start);
    if (mediaType !== undefined) return await imageOutcome(file, mediaType);
    const range = { offset, limit, maxBytes: maxTextBytes, maxLineUnits, countBytes };
    const read = await readLines({ handle: file.handle, start }, range, signal);
    if (read === undefined) throw binary(path);
    if (read.lines.length === 0 && offset > 1) throw beyondEnd(path, read.totalLines ?? 0);
    return textOutcome(file, read, offset);
  },
  toModel: (result) => (result.type === "image" ? imageWords(result) : textWords(result)),
});

async function imageOutcome({ handle, place, size }: OpenFile, mediaType: string) {
  if (size > maxImageBytes)
    throw new ToolFailure(
      `Image too large: ${oneLine(place.relative)} has ${size} bytes, more than ${maxImageBytes}; make a smaller one`,
      { code: "EFBIG" },
    );
  // Not beyond what was measured: it may grow meanwhile.
  const data = Buffer.alloc(size);
  const { bytesRead } = await handle.read(data, 0, size, 0);
  return {
    result: { path: place.relative, type: "image" as const, media_type: mediaType, bytes: bytesRead },
    summary: `Read an image (${mediaType}) from ${oneLine(place.relative)}`,
    content: [{ id: "image", mediaType, data: data.subarray(0, bytesRead) }],
    locations: [{ path: place.absolute }],
  };
}

function textOutcome({ place, size }: OpenFile, { lines, cutLines, totalLines, crlf }: LinesRead, offset: number) {
  return {
    result: {
      path: place.relative,
      type: "text" as const,
      text: lines.join("\n"),
      first_line: offset,
      lines: lines.length,
      ...(totalLines === undefined ? {} : { total_lines: totalLines }),
      ...(cutLines === 0 ? {} : { cut_lines: cutLines }),
      ...(crlf ? { crlf } : {}),
      bytes: size,
    },
    summary: `Read ${counted(lines.length, "line", "lines")} from ${oneLine(place.relative)}`,
    locations: [{ path: place.absolute, line: offset }],
  };
}

const imageWords = ({ path, media_type, bytes }: Output): string =>
  `${visible(path)}: an image (${media_type}, ${counted(bytes, "byte", "bytes")})`;

function textWords(result: Output): string {
  const { path, text = "", first_line: first = 1, lines = 0 } = result;
  if (lines === 0) return `${visible(path)} is empty`;
  const numbered = text.split("\n").map((line, index) => `${first + index}\t${line}`);
  return [`${visible(path)}: ${rangeWords(result)}`, ...numbered].join("\n");
}

function rangeWords({ first_line: first = 1, lines = 0, total_lines: total, cut_lines: cut, crlf }: Output): string {
  const last = first + lines - 1;
  const isAll = first === 1 && last === total;
  return [
    isAll ? counted(lines, "line", "lines") : `lines ${first} to ${last} of ${total ?? "more than can be counted"}`,
    last === total ? "" : `go on with offset ${last + 1}`,
    cut === undefined ? "" : `${counted(cut, "line is", "lines are")} cut after ${maxLineUnits} characters`,
    crlf ? "lines end with CR LF" : "",
  ]
    .filter(Boolean)
    .join("; ");
}

const binary = (path: string): ToolFailure =>
  new ToolFailure(`Binary file: ${oneLine(path)} is neither UTF-8 text nor an image; choose another file`, {
    code: "EILSEQ",
  });

const beyondEnd = (path: string, totalLines: number): ToolFailure =>
  new ToolFailure(`${oneLine(path)} has only ${counted(totalLines, "line", "lines")}; choose a smaller offset`, {
    code: "ERANGE",
  });
