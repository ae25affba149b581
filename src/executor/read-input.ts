// The input of a call, whole: it comes along where it is small, and in chunks where it is not.
import { insist } from "../client/index.js";
import { ContentRole, type ToolCall } from "../thread/schema.js";
import { answerMs, type ExecutorServer, patience } from "./executor-server.js";

export interface ReadCall {
  readonly call: ToolCall | undefined;
  /** As the model wrote it. */
  readonly input: string;
}

/** Throws what the server says about the call. */
export const readCall = (server: ExecutorServer, toolCallId: string, signal: AbortSignal): Promise<ReadCall> =>
  insist(
    async () => {
      const { toolCall: call, contents } = await server
        .toolCalls()
        .getToolCall({ toolCallId }, { signal, timeoutMs: answerMs });
      const inline = contents.find(({ info }) => info?.role === ContentRole.INPUT)?.data;
      const isElsewhere = call?.contents.some(({ role }) => role === ContentRole.INPUT) ?? false;
      const bytes = inline ?? (isElsewhere ? await readBody(server, toolCallId, signal) : new Uint8Array());
      return { call, input: Buffer.from(bytes).toString("utf8") };
    },
    patience(server, signal),
  );

/** A stream that is cut is read again from its beginning. */
async function readBody(server: ExecutorServer, toolCallId: string, signal: AbortSignal): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const { data } of server.toolCalls().readToolCallContent({ toolCallId, contentId: "input" }, { signal }))
    pieces.push(data);
  return Buffer.concat(pieces);
}
