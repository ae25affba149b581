// grpc-js with proto-loader: the schema is read from proto/ while running, and decoded by another protobuf library.
import { join } from "node:path";
import { fromBinary, toJson } from "@bufbuild/protobuf";
import {
  Client,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceDefinition,
  type ServiceError,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { StreamThreadEventsResponseSchema } from "../../../gen/heddle/v1/event_pb.js";
import { authorization, type Frame, requestJson, type StreamClient, type Target } from "./client.js";
import { failureOfStatus } from "./failure.js";

const schema = loadSync("heddle/v1/thread_service.proto", {
  includeDirs: [join(import.meta.dirname, "../../../proto")],
});
const service = schema["heddle.v1.ThreadService"] as ServiceDefinition;
const method = service["StreamThreadEvents"] as MethodDefinition<object, object>;

export const grpcJsClient: StreamClient = {
  name: "gRPC (grpc-js, proto-loader)",
  isHere: true,
  isCommand: false,
  servedBy: "lane",
  trustsCertificates: true,
  async *frames(target, request, { headers, signal, timeoutMs }) {
    const client = connect(target);
    try {
      const deadline = timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
      const { requestSerialize, responseDeserialize } = method;
      const metadata = metadataOf({ ...authorization(target), ...headers });
      const call = client.makeServerStreamRequest(
        method.path,
        requestSerialize,
        responseDeserialize,
        requestJson(request),
        metadata,
        deadline,
      );
      const cancel = () => call.cancel();
      signal.addEventListener("abort", cancel, { once: true });
      if (signal.aborted) cancel();
      for await (const message of call) yield canonical(message);
    } catch (reason) {
      throw failureOfServiceError(reason as ServiceError);
    } finally {
      client.close();
    }
  },
};

export function connect({ url, ca }: Target): Client {
  const trusted = ca ? credentials.createSsl(Buffer.from(ca.pem)) : credentials.createInsecure();
  return new Client(new URL(url).host, trusted, { "grpc.use_local_subchannel_pool": 1 });
}

export function metadataOf(headers: Record<string, string>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}

/** What proto-loader decoded, encoded by it again: what it did not understand would be missing. */
const canonical = (message: object): Frame =>
  toJson(
    StreamThreadEventsResponseSchema,
    fromBinary(StreamThreadEventsResponseSchema, method.responseSerialize(message)),
  ) as Frame;

function failureOfServiceError({ code, details, metadata }: ServiceError) {
  const [bytes] = metadata?.get("grpc-status-details-bin") ?? [];
  return failureOfStatus({ code, message: details, details: bytes && Buffer.from(bytes).toString("base64") });
}
