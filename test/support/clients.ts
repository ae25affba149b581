// Real clients over real connections, for tests.
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { RecorderService } from "../../gen/heddle/v1/recorder_service_pb.js";
import { ThreadService } from "../../gen/heddle/v1/thread_service_pb.js";
import { ToolCallService } from "../../gen/heddle/v1/tool_call_service_pb.js";
import { ToolService } from "../../gen/heddle/v1/tool_service_pb.js";

export interface Clients {
  readonly threads: Client<typeof ThreadService>;
  readonly toolCalls: Client<typeof ToolCallService>;
  readonly recorder: Client<typeof RecorderService>;
  readonly tools: Client<typeof ToolService>;
}

export const clientsOver = (transport: Transport): Clients => ({
  threads: createClient(ThreadService, transport),
  toolCalls: createClient(ToolCallService, transport),
  recorder: createClient(RecorderService, transport),
  tools: createClient(ToolService, transport),
});

export const grpcClients = (url: string): Clients => clientsOver(createGrpcTransport({ baseUrl: url }));
