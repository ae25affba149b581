// heddle call: one tool call, with its bodies.
import { toJsonString } from "@bufbuild/protobuf";
import type { Command } from "commander";
import { GetToolCallResponseSchema } from "../../gen/heddle/v1/tool_call_service_pb.js";
import { toolCallArgument } from "./arguments.js";
import { saveContents } from "./call-save.js";
import { callText } from "./call-text.js";
import type { Context } from "./run.js";
import { addSourceOptions, type Source, type SourceOptions, withSource } from "./source.js";
import { safeBlock, styleFor } from "./terminal.js";

interface CallFlags extends SourceOptions {
  readonly json: boolean;
  readonly content?: string;
  readonly save?: string;
}

const help = `
A call's id is on the line that says "named" in what "heddle follow <thread>" prints.

Examples:
  $ heddle call 0d4f5c1e-8c1b-4a57-9a44-5a0f6d1f2b3c
  $ heddle call 0d4f5c1e-8c1b-4a57-9a44-5a0f6d1f2b3c --content result > result.json
  $ heddle call 0d4f5c1e-8c1b-4a57-9a44-5a0f6d1f2b3c --save made       files that it made, into the folder "made"`;

export function addCall(program: Command, context: Context): void {
  const command = program
    .command("call")
    .summary("show one tool call")
    .description("Shows one tool call: what it did, how it ended, when, and its bodies.")
    .argument("<id>", "the tool call's id", toolCallArgument)
    .option("--json", "print one line of JSON (proto3 JSON of GetToolCallResponse)", false)
    .option(
      "--content <body>",
      'write one body as it is, such as "input" or "result" (on a terminal, made safe to look at)',
    )
    .option(
      "--save <dir>",
      "save what the tool has made as files in this folder (with --content: this body alone); nothing is written over",
    )
    .addHelpText("after", help);
  addSourceOptions(command).action(context.action((id: string, flags: CallFlags) => call(context, id, flags)));
}

async function call(context: Context, toolCallId: string, flags: CallFlags): Promise<void> {
  const { io, signal } = context;
  await withSource(context, flags, async (source) => {
    if (flags.save !== undefined)
      return saveContents(context, source, { toolCallId, directory: flags.save, contentId: flags.content });
    if (flags.content !== undefined) return writeContent(context, source, { toolCallId, contentId: flags.content });
    const response = await source.call(toolCallId, signal);
    const text = flags.json
      ? toJsonString(GetToolCallResponseSchema, response)
      : callText(response, { style: styleFor(io, "stdout"), where: flags });
    await io.stdout.write(`${text}\n`);
  });
}

async function writeContent(
  { io, signal }: Context,
  source: Source,
  body: { toolCallId: string; contentId: string },
): Promise<void> {
  const decoder = new TextDecoder();
  for await (const data of source.content(body, signal)) {
    await io.stdout.write(io.stdout.isTTY ? safeBlock(decoder.decode(data, { stream: true })) : data);
  }
}
