// Clients of a server that may come back at another address: each use asks where it is now.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { DocumentService } from "../../gen/heddle/v1/document_service_pb.js";
import { ThreadService } from "../../gen/heddle/v1/thread_service_pb.js";
import { type ResolveApprovalRequestSchema, ToolCallService } from "../../gen/heddle/v1/tool_call_service_pb.js";
import { ToolService } from "../../gen/heddle/v1/tool_service_pb.js";
import type { EventSource } from "../client/index.js";
import { openNodeTransport } from "./node-transport.js";

/** Where a server is. */
export interface ServerPlace {
  /** As far as is known at this moment. */
  url(): string;
  readonly token: string | undefined;
}

/** What ResolveApproval is sent: nothing of it may be left out. */
export type ApprovalAnswer = Required<Omit<MessageInitShape<typeof ResolveApprovalRequestSchema>, `$${string}`>>;

export interface ServerClients {
  threads(): Client<typeof ThreadService>;
  toolCalls(): Client<typeof ToolCallService>;
  tools(): Client<typeof ToolService>;
  documents(): Client<typeof DocumentService>;
  /** Each of its streams goes to where the server is when it is opened. */
  readonly events: EventSource;
  close(): void;
}

export function openClients({ url, token }: ServerPlace): ServerClients {
  let current = clientsAt(url(), token);
  const now = () => {
    const address = url();
    if (address === current.url) return current;
    current.close();
    current = clientsAt(address, token);
    return current;
  };
  return {
    threads: () => now().threads,
    toolCalls: () => now().toolCalls,
    tools: () => now().tools,
    documents: () => now().documents,
    events: { streamThreadEvents: (request, options) => now().threads.streamThreadEvents(request, options) },
    close: () => current.close(),
  };
}

function clientsAt(url: string, token: string | undefined) {
  const { transport, close } = openNodeTransport(url, token);
  return {
    url,
    threads: createClient(ThreadService, transport),
    toolCalls: createClient(ToolCallService, transport),
    tools: createClient(ToolService, transport),
    documents: createClient(DocumentService, transport),
    close,
  };
}
