// heddle approvals allow, deny: the answer to one question, for what was shown and for nothing else.
import { resolve } from "node:path";
import { ConnectError } from "@connectrpc/connect";
import { ToolCallApprovalResolved_Decision as Decision } from "../../gen/heddle/v1/event_pb.js";
import { type ToolCall, ToolCallState } from "../../gen/heddle/v1/tool_call_pb.js";
import { reasonOf } from "../client/index.js";
import { answererOf } from "./answerer.js";
import { findWaiting, readQuestion } from "./approvals-find.js";
import { isWaiting, questionText } from "./approvals-text.js";
import { exitCodes } from "./exit.js";
import { Failure } from "./failure.js";
import { serverOf } from "./find-server.js";
import { commandLine, type Where } from "./next-command.js";
import { programName } from "./program-name.js";
import { readLine } from "./read-line.js";
import type { Context } from "./run.js";
import { type Source, type SourceOptions, withSource } from "./source.js";
import { safeLine, styleFor } from "./terminal.js";

export type AnswerFlags = SourceOptions &
  ({ readonly decision: "allow"; readonly yes: boolean } | { readonly decision: "deny"; readonly reason: string });

export async function answerApproval(context: Context, prefix: string, given: AnswerFlags): Promise<void> {
  const { io, signal } = context;
  const flags = await withHolder(given);
  await withSource(context, flags, async (source) => {
    const id = await findWaiting(source, prefix, { signal, where: flags });
    const question = await readQuestion(source, id, signal);
    const call = question.toolCall;
    if (call?.approval === undefined || !isWaiting(call)) throw notWaiting(call, id, flags);
    const send = answerTaker(source, flags);
    if (flags.decision === "allow") {
      const text = questionText(question, { style: styleFor(io, "stdout"), where: undefined, nowMs: Date.now() });
      await io.stdout.write(`${text}\n`);
      if (!flags.yes && io.stdin.isTTY && io.stdout.isTTY) await confirm(context);
    }
    const answer = {
      toolCallId: id,
      decision: flags.decision === "allow" ? Decision.ALLOWED : Decision.DENIED,
      reason: flags.decision === "allow" ? "" : flags.reason,
      approvalSha256: call.approval.approvalSha256,
      resolvedBy: answererOf("heddle approvals"),
    };
    await send(answer, signal).catch((reason) => {
      throw explained(reason, id, flags);
    });
    const done = flags.decision === "allow" ? "Allowed" : "Denied";
    await io.stdout.write(`${done}: ${safeLine(call.title || call.toolName)}: ${safeLine(call.startedSummary)}\n`);
  });
}

async function confirm({ io, signal }: Context): Promise<void> {
  await io.stdout.write("Allow this? [y]es / [n]o: ");
  const line = await readLine(io, signal);
  if (/^\s*y(?:es)?\s*$/i.test(line)) return;
  const message = "nothing was answered: the call goes on waiting";
  throw new Failure({ code: exitCodes.error, message }, undefined);
}

/** An answer is for whoever runs the call: of a directory, the server that holds it. */
async function withHolder(flags: AnswerFlags): Promise<AnswerFlags> {
  if (flags.data === undefined) return flags;
  const holder = await serverOf(resolve(flags.data), undefined);
  return holder === undefined ? flags : { ...flags, data: undefined, server: holder.url() };
}

function answerTaker({ answer, foundIn }: Source, { data }: SourceOptions): NonNullable<Source["answer"]> {
  if (answer !== undefined) return answer;
  const dataDir = safeLine(data ?? foundIn ?? "");
  const message = `no server takes answers for ${dataDir}. Where "${programName} run" works on it, answer on its terminal; else start one with "${commandLine("serve", { data: dataDir })}", and answer then`;
  throw new Failure({ code: exitCodes.unreachable, message }, undefined);
}

function notWaiting(call: ToolCall | undefined, id: string, where: Where): Failure {
  const isOver = call?.state === ToolCallState.OVER;
  const isAnswered = call?.approval?.resolveTime !== undefined;
  return ended(
    isOver ? "is over" : isAnswered ? "has been answered already" : "does not wait for an answer",
    id,
    where,
  );
}

const ended = (what: string, id: string, where: Where, cause?: unknown): Failure =>
  new Failure(
    {
      code: exitCodes.error,
      message: `the call ${what}: there is nothing to answer. See what became of it with ${commandLine(`call ${id}`, where)}`,
    },
    cause,
  );

/** The server's refusals, in words that say what to do next. */
function explained(reason: unknown, id: string, where: Where): unknown {
  const error = ConnectError.from(reason);
  switch (reasonOf(error)) {
    case "APPROVAL_NOT_PENDING":
      return ended(
        /time was up/.test(error.rawMessage) ? "waited until its time was up" : "has been answered by somebody else",
        id,
        where,
        reason,
      );
    case "TOOL_CALL_OVER":
      return ended("is over", id, where, reason);
    case "APPROVAL_MISMATCH": {
      const message = `what was shown is not what is asked any more: look at it again with ${commandLine(`approvals show ${id}`, where)}`;
      return new Failure({ code: exitCodes.error, message }, reason);
    }
    default:
      return reason;
  }
}
