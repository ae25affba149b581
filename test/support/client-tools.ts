// Tools that clients run, and a client that runs their calls, for tests inside a core.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type ClientTool, ClientToolSchema, OutputStream, ToolCallOutcome } from "../../src/thread/schema.js";
import type { Core } from "./core.js";

export const declared = (name: string, extra: MessageInitShape<typeof ClientToolSchema> = {}): ClientTool =>
  create(ClientToolSchema, { name, description: `Does ${name} near the user.`, ...extra } as never);

export const tokens = { ours: "a-token-of-our-own", theirs: "a-token-of-theirs-alone" } as const;

/** A client upon a core: claims with a token of its own. */
export function executor(core: Pick<Core, "executorCalls">, toolCallId: string, token: string = tokens.ours) {
  const { executorCalls } = core;
  return {
    claim: (leaseMs = 30_000) =>
      executorCalls.claim({ toolCallId, executorName: "a laptop", claimToken: token, leaseMs }),
    print: (text: string, reportSequence = 0n) =>
      executorCalls.report(toolCallId, token, {
        outputs: [{ stream: OutputStream.STDOUT, text }],
        progress: undefined,
        reportSequence,
      }),
    progress: (message: string, completed?: number) =>
      executorCalls.report(toolCallId, token, {
        outputs: [],
        progress: { message, ...(completed !== undefined && { completed }) },
        reportSequence: 0n,
      }),
    renew: () => executorCalls.report(toolCallId, token, { outputs: [], progress: undefined, reportSequence: 0n }),
    complete: (result: unknown = { done: true }, summary = "Done near the user", outcome = ToolCallOutcome.SUCCEEDED) =>
      executorCalls.complete(toolCallId, token, {
        complete: { toolCallId, outcome, summary },
        result: result === null ? new Uint8Array() : Buffer.from(JSON.stringify(result)),
      }),
  };
}
