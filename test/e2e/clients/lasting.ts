// The streams that are of no single thread, opened by every sort of client: the list of threads, and an offer of tools.
import { join } from "node:path";
import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  fromBinary,
  fromJson,
  type JsonObject,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { ThreadService } from "../../../gen/heddle/v1/thread_service_pb.js";
import { ToolService } from "../../../gen/heddle/v1/tool_service_pb.js";
import { authorization, type Frame, type Target } from "./client.js";
import { linesOf } from "./command.js";
import { definitions } from "./connect.js";
import { failureOf } from "./failure.js";
import { connect, metadataOf } from "./grpc-js.js";

export const lastingMethods = {
  watchThreads: ThreadService.method.watchThreads,
  offerTools: ToolService.method.offerTools,
} as const satisfies Record<string, DescMethodServerStreaming>;

export interface LastingClient {
  readonly name: string;
  /** Frames in proto3 JSON. Contract: throws StreamFailure when the call fails. */
  frames(target: Target, call: LastingCall, signal: AbortSignal): AsyncIterable<Frame>;
}

export interface LastingCall {
  readonly method: keyof typeof lastingMethods;
  /** proto3 JSON. */
  readonly request: JsonObject;
}

const throughConnect: readonly LastingClient[] = definitions.map(({ name, open }) => ({
  name,
  async *frames(target, { method, request }, signal) {
    const { transport, close } = open(target);
    const { input, output, ...rest } = lastingMethods[method];
    const described = { input, output, ...rest } as DescMethodServerStreaming;
    try {
      async function* one() {
        yield create(input as DescMessage, fromJson(input as DescMessage, request) as never);
      }
      const answer = await transport.stream(described, signal, undefined, authorization(target), one());
      for await (const frame of answer.message) yield toJson(output as DescMessage, frame as never) as Frame;
    } catch (reason) {
      throw failureOf(reason);
    } finally {
      close();
    }
  },
}));

/** With the bytes of this project's messages: what is tried is the library's own HTTP/2 and framing. */
const grpcJs: LastingClient = {
  name: "gRPC (grpc-js)",
  async *frames(target, { method, request }, signal) {
    const client = connect(target);
    const { input, output, parent, name } = lastingMethods[method];
    const call = client.makeServerStreamRequest(
      `/${parent.typeName}/${name}`,
      (given: JsonObject) => Buffer.from(toBinary(input as DescMessage, fromJson(input as DescMessage, given))),
      (bytes: Buffer) => toJson(output as DescMessage, fromBinary(output as DescMessage, bytes)) as Frame,
      request,
      metadataOf(authorization(target)),
    );
    const cancel = () => call.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    try {
      for await (const frame of call) yield frame as Frame;
    } catch (reason) {
      throw failureOf(reason);
    } finally {
      client.close();
    }
  },
};

const buf = join(import.meta.dirname, "../../../node_modules/.bin/buf");

const bufCurl: readonly LastingClient[] = ["grpc", "connect", "grpcweb"].map((protocol) => ({
  name: `${protocol} (buf curl, reflection)`,
  async *frames(target, { method, request }, signal) {
    const { parent, name } = lastingMethods[method];
    const args = ["curl", "--protocol", protocol, "--http2-prior-knowledge", "--data", JSON.stringify(request)];
    args.push(`${target.url}/${parent.typeName}/${name}`);
    let document = "";
    for await (const line of linesOf({ file: buf, args, signal, leave: "SIGINT" })) {
      document += line;
      if (line !== "}") continue;
      yield JSON.parse(document) as Frame;
      document = "";
    }
  },
}));

export const lastingClients: readonly LastingClient[] = [...throughConnect, grpcJs, ...bufCurl];
