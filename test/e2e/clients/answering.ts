// Two clients that answer the question whether a call may run, with nothing in common but the schema: grpc-js with proto-loader,
// and Connect over HTTP/1.1.
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { create, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { Client, credentials, type MethodDefinition, type ServiceDefinition, type ServiceError } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { ResolveApprovalRequestSchema, ToolCallService } from "../../../gen/heddle/v1/tool_call_service_pb.js";
import { failureOf, failureOfStatus } from "./failure.js";

export type Answer = MessageInitShape<typeof ResolveApprovalRequestSchema>;

export interface AnsweringClient {
  readonly name: string;
  /** Rejects with StreamFailure. */
  answer(answer: Answer): Promise<void>;
  close(): void;
}

const schema = loadSync("heddle/v1/tool_call_service.proto", {
  includeDirs: [join(import.meta.dirname, "../../../proto")],
});
const service = schema["heddle.v1.ToolCallService"] as ServiceDefinition;
const method = service["ResolveApproval"] as MethodDefinition<object, object>;

export function openGrpcJs(url: string): AnsweringClient {
  const client = new Client(new URL(url).host, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
  // What proto-loader makes of the bytes: its own spelling of fields and enums.
  const spelt = (answer: Answer): object =>
    method.requestDeserialize(
      Buffer.from(toBinary(ResolveApprovalRequestSchema, create(ResolveApprovalRequestSchema, answer))),
    );
  return {
    name: "grpc-js",
    answer: (answer) =>
      new Promise((resolve, reject) => {
        const { path, requestSerialize, responseDeserialize } = method;
        client.makeUnaryRequest(path, requestSerialize, responseDeserialize, spelt(answer), (error) =>
          error ? reject(failureOfServiceError(error)) : resolve(),
        );
      }),
    close: () => client.close(),
  };
}

export function openConnect(url: string): AnsweringClient {
  const client = createClient(ToolCallService, createConnectTransport({ baseUrl: url, httpVersion: "1.1" }));
  return {
    name: "Connect",
    answer: async (answer) => {
      await client.resolveApproval(answer).catch((reason) => Promise.reject(failureOf(reason)));
    },
    close: () => {},
  };
}

function failureOfServiceError({ code, details, metadata }: ServiceError) {
  const [bytes] = metadata.get("grpc-status-details-bin");
  return failureOfStatus({ code, message: details, details: bytes && Buffer.from(bytes).toString("base64") });
}
