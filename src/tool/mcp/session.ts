// One conversation with an MCP server, as the rest of Heddle sees it. The SDK is behind it (sdk-session.ts), and nowhere else.

/** What a server says besides its answers. */
export interface SessionEvents {
  /** Its list of tools is another now. */
  onToolsChanged(): void;
  /** A line for the operator's log. */
  onLog(level: string, text: string): void;
  /** It is over, and nobody here has ended it. Once; `reason` is for people. */
  onLost(reason: string): void;
}

/** A page of a server's tools, as it gave them. */
export interface ToolPage {
  readonly tools: readonly unknown[];
  readonly nextCursor: string | undefined;
}

export interface CallProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface CallRequest {
  /** As the server calls it. */
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Aborted: the server is told that nobody waits any more. Its reason is a text for the server. */
  readonly signal: AbortSignal;
  onProgress(progress: CallProgress): void;
}

export interface McpSession {
  /** What the server calls itself, and its version. */
  readonly serverInfo: string;
  /** False: it offers no tools at all, and is not asked for them. */
  readonly hasTools: boolean;
  /** Rejects with a SessionError, or with the signal's reason. */
  listTools(cursor: string | undefined, signal: AbortSignal): Promise<ToolPage>;
  /** What the server answers, as it is. Rejects with a SessionError, or with the signal's reason. */
  callTool(request: CallRequest): Promise<Readonly<Record<string, unknown>>>;
  /** Resolves when nothing is left of it. */
  close(): Promise<void>;
}

/** Opens one. Contract: rejects with a SessionError, or with the signal's reason, and leaves nothing behind then. */
export type OpenSession = (events: SessionEvents, signal: AbortSignal) => Promise<McpSession>;

/** What went wrong between us and a server. */
export type SessionFault =
  /** It answered with an error of the protocol. `code`: its number. */
  | { readonly kind: "protocol"; readonly code: string }
  /** It answered with an HTTP status that is no success. `code`: the status. */
  | { readonly kind: "http"; readonly code: string }
  /** Its session is over: what was sent was not taken. */
  | { readonly kind: "expired" }
  /** It cannot be reached or started: nothing was sent. `code`: errno and the like; may be empty. */
  | { readonly kind: "unreachable"; readonly code: string }
  /** The connection broke after something was sent: whether it had an effect is not known. */
  | { readonly kind: "lost" };

export class SessionError extends Error {
  readonly fault: SessionFault;

  /** `message`: for people, one line, nothing secret. */
  constructor(fault: SessionFault, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "SessionError";
    this.fault = fault;
  }
}
