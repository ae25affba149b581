// One call on a server, from our side: its progress is passed on, a server that falls silent is not waited for, and how the call ends
// is decided by what we know ourselves. A call is sent once.
import { type ToolContext, ToolFailure } from "../tool.js";
import { type CallProgress, type McpSession, SessionError } from "./session.js";

export interface ToolCall {
  readonly serverLabel: string;
  readonly toolName: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Without a word of progress for so long, it is given up. */
  readonly idleMs: number;
}

/** What the server answers. Rejects with a ToolFailure, or with the reason of the context's signal. */
export async function callTool(
  session: McpSession,
  call: ToolCall,
  { signal, progress }: Pick<ToolContext, "signal" | "progress">,
): Promise<Readonly<Record<string, unknown>>> {
  const { idleMs, toolName: name, input } = call;
  const idle = new AbortController();
  const clock = setTimeout(() => idle.abort(`Nothing was heard for ${idleMs} ms`), idleMs);
  const onProgress = rising((at) => {
    clock.refresh();
    progress(at.progress, at.total, at.message);
  });
  try {
    return await session.callTool({ name, input, signal: AbortSignal.any([signal, idle.signal]), onProgress });
  } catch (error) {
    signal.throwIfAborted();
    if (idle.signal.aborted) throw tooQuiet(call);
    throw failureOf(call, error);
  } finally {
    clearTimeout(clock);
  }
}

/** The protocol lets progress only rise. What does not is no sign of life either. */
function rising(next: (progress: CallProgress) => void): (progress: CallProgress) => void {
  let highest = Number.NEGATIVE_INFINITY;
  return (progress) => {
    if (!(progress.progress > highest)) return;
    highest = progress.progress;
    next(progress);
  };
}

const tooQuiet = ({ serverLabel, idleMs }: ToolCall): ToolFailure =>
  new ToolFailure(
    `Timed out: the MCP server ${serverLabel} said nothing for ${idleMs / 1_000} s; whether the call had an effect is not known`,
    { kind: "idle_timeout", ending: "timed_out" },
  );

/** What went wrong with the server, where that is why a call failed. */
export function faultOf(error: unknown): SessionError["fault"]["kind"] | undefined {
  const cause = error instanceof ToolFailure ? error.cause : undefined;
  return cause instanceof SessionError ? cause.fault.kind : undefined;
}

export function failureOf({ serverLabel }: Pick<ToolCall, "serverLabel">, error: unknown): ToolFailure {
  if (error instanceof ToolFailure) return error;
  if (!(error instanceof SessionError))
    return new ToolFailure(`The MCP server ${serverLabel} could not be asked`, {
      kind: "protocol_error",
      cause: error,
    });
  const { fault, message } = error;
  switch (fault.kind) {
    case "protocol":
      return new ToolFailure(`MCP server ${serverLabel}: ${message}`, {
        kind: "protocol_error",
        code: fault.code,
        cause: error,
      });
    case "http":
      return new ToolFailure(`MCP server ${serverLabel}: ${message}`, {
        kind: "http_error",
        code: fault.code,
        cause: error,
      });
    case "expired":
    case "unreachable": {
      const code = fault.kind === "expired" ? "404" : fault.code;
      return new ToolFailure(`MCP server ${serverLabel}: ${message}`, {
        kind: "connection_failed",
        code,
        cause: error,
      });
    }
    case "lost":
      return new ToolFailure(
        `The connection to the MCP server ${serverLabel} broke: ${message}; whether the call had an effect is not known`,
        { kind: "connection_lost", ending: "interrupted", cause: error },
      );
  }
}
