// heddle approvals: what waits for a person's yes, one of them whole, and the answer.
import { toJsonString } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Command } from "commander";
import { type ToolCall, ToolCallSchema } from "../../gen/heddle/v1/tool_call_pb.js";
import { GetToolCallResponseSchema } from "../../gen/heddle/v1/tool_call_service_pb.js";
import { answerApproval } from "./approvals-answer.js";
import { callPrefixArgument, findWaiting, readQuestion } from "./approvals-find.js";
import { questionText } from "./approvals-text.js";
import { roughSpan } from "./format.js";
import { commandLine } from "./next-command.js";
import type { Context } from "./run.js";
import { addSourceOptions, type SourceOptions, withSource } from "./source.js";
import { type Style, safeLine, styleFor } from "./terminal.js";
import { joined } from "./words.js";

interface ApprovalsFlags extends SourceOptions {
  readonly json: boolean;
}

const help = `
A call's id may be cut short as long as only one call that waits begins with it. A yes counts once, and for what was shown: when
the call would do something else by the time it runs, it is refused. With --data, an answer goes to the server that holds the
directory.

Examples:
  $ heddle approvals
  $ heddle approvals show 0d4f5c1e
  $ heddle approvals allow 0d4f5c1e
  $ heddle approvals deny 0d4f5c1e --reason "Use the staging database"
  $ heddle approvals --json | jq -r .id`;

export function addApprovals(program: Command, context: Context): void {
  const command = program
    .command("approvals")
    .summary("list the tool calls that wait for a yes, and answer")
    .description(
      "Lists the tool calls that wait for a person's yes, oldest question first; shows one, allows or denies it.",
    )
    .usage("[options] [call]\n       heddle approvals show|allow|deny [options] <call>")
    .argument("[call]", "show this call, as show does", callPrefixArgument)
    .option("--json", "print each call as one line of JSON (proto3 JSON of ToolCall)", false)
    .enablePositionalOptions()
    .addHelpText("after", help);
  addSourceOptions(command).action(
    context.action((id: string | undefined, flags: ApprovalsFlags) =>
      id === undefined ? list(context, flags) : show(context, id, flags),
    ),
  );
  // Flags may stand before the verb too.
  const withGiven = <Flags extends object>(flags: Flags): Flags => ({ ...command.opts(), ...flags });

  const showing = command
    .command("show")
    .description("Shows what would happen: the summary, the input, the preview, and what a yes is bound to.")
    .argument("<call>", "the call's id, or its beginning", callPrefixArgument)
    .option("--json", "print one line of JSON (proto3 JSON of GetToolCallResponse)");
  addSourceOptions(showing).action(
    context.action((id: string, flags: ApprovalsFlags) => show(context, id, withGiven(flags))),
  );
  const allowing = command
    .command("allow")
    .description("Shows what would happen, and allows it, this once.")
    .argument("<call>", "the call's id, or its beginning", callPrefixArgument)
    .option("--yes", "do not ask again on a terminal", false);
  addSourceOptions(allowing).action(
    context.action((id: string, flags: SourceOptions & { yes: boolean }) =>
      answerApproval(context, id, { ...withGiven(flags), decision: "allow" }),
    ),
  );
  const denying = command
    .command("deny")
    .description("Says no. The model is told, and goes on without the call.")
    .argument("<call>", "the call's id, or its beginning", callPrefixArgument)
    .option("--reason <text>", "why, in one line: the model reads it", "");
  addSourceOptions(denying).action(
    context.action((id: string, flags: SourceOptions & { reason: string }) =>
      answerApproval(context, id, { ...withGiven(flags), decision: "deny" }),
    ),
  );
}

async function list(context: Context, flags: ApprovalsFlags): Promise<void> {
  const { io, signal } = context;
  const style = styleFor(io, "stdout");
  let count = 0;
  await withSource(context, flags, async (source) => {
    for await (const call of source.approvals(signal)) {
      count++;
      await io.stdout.write(`${flags.json ? toJsonString(ToolCallSchema, call) : entryText(call, style)}\n`);
    }
  });
  if (flags.json) return;
  const next = commandLine("approvals show <call>", flags);
  await io.stderr.write(count === 0 ? "Nothing waits for a yes.\n" : `Look at one with: ${next}\n`);
}

/** Two lines and a half are read more easily than six columns, two of them ids. */
function entryText(call: ToolCall, style: Style): string {
  const { reason = "", requestTime, expireTime } = call.approval ?? {};
  const nowMs = Date.now();
  const times = joined(
    requestTime === undefined ? "" : `asked ${roughSpan(nowMs - timestampMs(requestTime))} ago`,
    expireTime === undefined ? "never expires" : `expires in ${roughSpan(timestampMs(expireTime) - nowMs)}`,
  );
  return [
    `${style.yellow("?")} ${style.bold(safeLine(call.title || call.toolName))}: ${safeLine(call.startedSummary)}`,
    `  ${safeLine(reason === "" ? times : `${reason}; ${times}`)}`,
    style.dim(`  call ${safeLine(call.id)}  thread ${safeLine(call.threadId)}`),
  ].join("\n");
}

async function show(context: Context, prefix: string, flags: ApprovalsFlags): Promise<void> {
  const { io, signal } = context;
  await withSource(context, flags, async (source) => {
    const id = await findWaiting(source, prefix, { signal, where: flags });
    const question = await readQuestion(source, id, signal);
    const text = flags.json
      ? toJsonString(GetToolCallResponseSchema, question)
      : questionText(question, { style: styleFor(io, "stdout"), where: flags, nowMs: Date.now() });
    await io.stdout.write(`${text}\n`);
  });
}
