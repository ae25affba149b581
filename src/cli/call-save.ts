// heddle call --save: bodies of a call as files. What a server calls them is not believed: a name that is no plain name is refused,
// and nothing that is there is written over, nor is a link followed.
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { type ContentInfo, ContentRole } from "../../gen/heddle/v1/content_pb.js";
import { exitCodes } from "./exit.js";
import { Failure } from "./failure.js";
import { sizeText } from "./format.js";
import type { Context } from "./run.js";
import type { Source } from "./source.js";
import { safeLine } from "./terminal.js";

export interface Saving {
  readonly toolCallId: string;
  readonly directory: string;
  /** Undefined: all that the tool has made. */
  readonly contentId: string | undefined;
}

export async function saveContents({ io, signal }: Context, source: Source, saving: Saving): Promise<void> {
  const { toolCallId, directory, contentId } = saving;
  const { toolCall } = await source.call(toolCallId, signal);
  const infos = (toolCall?.contents ?? []).filter((info) =>
    contentId === undefined ? info.role === ContentRole.PART : info.contentId === contentId,
  );
  if (infos.length === 0) throw nothingToSave(contentId);
  for (const info of infos) checkName(info);
  await mkdir(directory, { recursive: true });
  for (const { contentId: name } of infos) {
    const path = join(directory, name);
    const bytes = await save(path, source.content({ toolCallId, contentId: name }, signal));
    await io.stdout.write(`saved ${safeLine(path)} (${sizeText(BigInt(bytes))})\n`);
  }
}

/** What is half written is taken away again. */
async function save(path: string, pieces: AsyncIterable<Uint8Array>): Promise<number> {
  const file = await open(path, "wx").catch((cause: NodeJS.ErrnoException) => {
    throw notWritten(path, cause);
  });
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      await file.writeFile(piece);
      bytes += piece.length;
    }
  } catch (reason) {
    await rm(path, { force: true });
    throw reason;
  } finally {
    await file.close();
  }
  return bytes;
}

/** A plain name on every system: no folder, no hidden file, no device, no way up. */
const plainName = /^(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))[a-z0-9][a-z0-9._-]{0,62}(?<!\.)$/;

function checkName({ contentId }: ContentInfo): void {
  if (plainName.test(contentId)) return;
  const message = `${safeLine(contentId)} is no name for a file; write it with --content and a redirection`;
  throw new Failure({ code: exitCodes.error, message }, undefined);
}

function nothingToSave(contentId: string | undefined): Failure {
  const message =
    contentId === undefined
      ? "the call has made nothing that could be saved"
      : `there is no body ${safeLine(contentId)}`;
  return new Failure({ code: exitCodes.notFound, message }, undefined);
}

function notWritten(path: string, cause: NodeJS.ErrnoException): Failure {
  const message =
    cause.code === "EEXIST"
      ? `${safeLine(path)} is there already; save to another folder, or move it away`
      : `${safeLine(path)} cannot be written (${cause.code ?? cause.message}); save to another folder`;
  return new Failure({ code: exitCodes.error, message }, cause);
}
