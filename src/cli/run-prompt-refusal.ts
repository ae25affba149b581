// A run that its server refused, in words that say what to do next.
import { ConnectError } from "@connectrpc/connect";
import { ThreadHolder_Kind, ThreadHolderSchema } from "../../gen/heddle/v1/error_pb.js";
import { reasonOf } from "../client/index.js";
import { type Ending, endingOf, exitCodes } from "./exit.js";
import { Failure } from "./failure.js";
import { commandLine } from "./next-command.js";
import type { RunServer } from "./run-prompt-server.js";
import { safeLine } from "./terminal.js";

export interface Asked {
  readonly server: RunServer;
  readonly flags: { readonly model?: string; readonly thread?: string };
}

export function refusalOf(reason: unknown, asked: Asked): Failure {
  const error = reason instanceof ConnectError ? reason : undefined;
  const ending = (error && (modelNotOffered(error, asked) ?? threadBusy(error, asked))) ?? usual(reason, asked);
  return new Failure(ending, reason);
}

const usual = (reason: unknown, { server }: Asked): Ending =>
  endingOf(reason, server.isOwn ? undefined : server.place.url());

function modelNotOffered(error: ConnectError, { server, flags }: Asked): Ending | undefined {
  if (reasonOf(error) !== "MODEL_NOT_OFFERED" || flags.model === undefined || server.isOwn) return undefined;
  const holds = server.dataDir === undefined ? "" : ` holds ${server.dataDir} and`;
  // The list is in the text alone; without it the sentence is still true.
  const offered = /choose one of (.+)$/.exec(error.rawMessage)?.[1];
  const offers = offered === undefined ? "does not offer it" : `offers only ${offered}`;
  const last =
    server.dataDir === undefined ? "or leave --model out" : "leave --model out, or give --data another directory";
  const advice = `start it with --model ${flags.model}, list the model in its agent.models, ${last}`;
  const message = `--model ${flags.model}: the server at ${server.place.url()}${holds} ${offers}: ${advice}`;
  return { code: exitCodes.usage, message: safeLine(message) };
}

function threadBusy(error: ConnectError, { server, flags }: Asked): Ending | undefined {
  const holder = error.findDetails(ThreadHolderSchema)[0];
  if (holder === undefined || flags.thread === undefined) return undefined;
  const { kind, holderId, producer } = holder;
  const by = kind === ThreadHolder_Kind.RECORDING ? `the recording ${holderId} of ${producer}` : `run ${holderId}`;
  const there = (command: string) => commandLine(command, server.where, server.isOwn ? undefined : server.place.url());
  const asks = kind === ThreadHolder_Kind.RECORDING ? "" : `, or answer what it waits for ("${there("approvals")}")`;
  const message = `the thread is busy with ${by}: wait, or watch it with ${there(`follow ${flags.thread}`)}${asks}`;
  return { code: exitCodes.error, message: safeLine(message) };
}
